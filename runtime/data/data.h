/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data sets in C, over libsinter_data: files as batches of columns, shuffled, transformed, resumed. Errors are those of
 * sinter.h: a status, and sinter_last_error() with file, record and byte.
 *
 *   sinter_columns *columns;
 *   sinter_data *table, *batches;
 *   sinter_loader *loader;
 *   int32_t more;
 *   if (sinter_columns_load("columns.json", &columns) ||
 *       sinter_data_open_features("train.csv", columns, 256, &table) ||
 *       sinter_data_transform(table, columns, 2, &batches) || sinter_loader_create(batches, &loader))
 *     return puts(sinter_last_error());
 *   while (!sinter_loader_next(loader, &more) && more) {
 *     sinter_tensor x;
 *     sinter_loader_column(loader, sinter_loader_find(loader, "x"), &x);
 *   }
 *
 * A data set is a description that belongs to who made it; those made from it stay when it is released. A loader
 * belongs to one thread at a time. */

#ifndef SINTER_RUNTIME_DATA_DATA_H
#define SINTER_RUNTIME_DATA_DATA_H

#include "../sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinter_data sinter_data;
typedef struct sinter_loader sinter_loader;
typedef struct sinter_columns sinter_columns;
typedef struct sinter_rows sinter_rows;

/* Data sets. */

/* The file `path` (.csv, .tsv, .jsonl, .npy, .npz, .safetensors, .idx, .tfrecord, .txt) in batches of `rows` rows, or a
 * folder of pictures and sounds one by one. */
sinter_status_code sinter_data_open(const char *path, int64_t rows, sinter_data **data);
/* The same with the features that `columns` need, typed as these say. */
sinter_status_code sinter_data_open_features(const char *path, const sinter_columns *columns, int64_t rows,
                                             sinter_data **data);
void sinter_data_release(sinter_data *data);

/* Each makes `*result` from `data`, which it does not use up. */

/* Rows within windows of `window` rows in a random order, another one in each epoch, in batches of `rows`; a window of
 * 0 keeps the order. A batch that is not full is left out where `whole` is not 0. */
sinter_status_code sinter_data_shuffle(const sinter_data *data, int64_t window, uint64_t seed, int64_t rows,
                                       int32_t whole, sinter_data **result);
/* `times` epochs, -1: for ever. */
sinter_status_code sinter_data_repeat(const sinter_data *data, int64_t times, sinter_data **result);
/* Batches number rank, rank + world, ... */
sinter_status_code sinter_data_shard(const sinter_data *data, int64_t rank, int64_t world, sinter_data **result);
/* Without records that cannot be read, at most `most` of them, -1: any number. */
sinter_status_code sinter_data_skip_errors(const sinter_data *data, int64_t most, sinter_data **result);
/* Up to `batches` are read ahead on a thread. */
sinter_status_code sinter_data_prefetch(const sinter_data *data, int32_t batches, sinter_data **result);
/* What `columns`, which are fitted, make of each batch, on `threads` threads (0: the reader's). */
sinter_status_code sinter_data_transform(const sinter_data *data, const sinter_columns *columns, int32_t threads,
                                         sinter_data **result);

/* Loaders. */

/* A loader over `data`, at its beginning; the caller owns `*loader`. It belongs to one thread at a time. */
sinter_status_code sinter_loader_create(const sinter_data *data, sinter_loader **loader);
/* Ends its threads and frees it; null is ignored. */
void sinter_loader_destroy(sinter_loader *loader);
/* Makes the next batch the current one and sets `*more` to 1, or to 0 at the end. After an error of one record it may
 * be called again. */
sinter_status_code sinter_loader_next(sinter_loader *loader, int32_t *more);
/* Columns of the current batch. */
int32_t sinter_loader_num_columns(const sinter_loader *loader);
const char *sinter_loader_name(const sinter_loader *loader, int32_t column); /* null when out of range */
int32_t sinter_loader_find(const sinter_loader *loader, const char *name);   /* -1 where there is none */
/* The numbers of a column, of a ragged one all of them, until the next call of sinter_loader_next. */
sinter_status_code sinter_loader_column(const sinter_loader *loader, int32_t column, sinter_tensor *view);
/* Where the rows of a ragged column begin and the last one ends, `*rows` + 1 numbers; null and 0 for others. */
sinter_status_code sinter_loader_splits(const sinter_loader *loader, int32_t column, const int64_t **splits,
                                        int64_t *rows);
/* Element `index` of a column of strings; without a terminating zero. */
sinter_status_code sinter_loader_string(const sinter_loader *loader, int32_t column, int64_t index, const char **text,
                                        int64_t *bytes);
/* What sinter_loader_load of a new loader goes on from, until the next call of this. */
sinter_status_code sinter_loader_save(sinter_loader *loader, const void **state, int64_t *bytes);
sinter_status_code sinter_loader_load(sinter_loader *loader, const void *state, int64_t bytes);

/* Feature columns (Columns.h describes the files). */

/* The columns that the JSON file `path` describes, fitted or not; the caller owns `*columns`. */
sinter_status_code sinter_columns_load(const char *path, sinter_columns **columns);
/* Fits what the file leaves open, to a data set of features. Belongs to one thread. */
sinter_status_code sinter_columns_fit(sinter_columns *columns, const sinter_data *data);
sinter_status_code sinter_columns_save(const sinter_columns *columns, const char *path);
void sinter_columns_release(sinter_columns *columns);

/* Tables larger than memory (RowStore.h, RowCache.h): rows in a folder, of which a step that is compiled for a table of
 * `slots` rows has those that its batches look up. One thread at a time. */

typedef struct sinter_row_field {
  const char *name; /* the state of the step, f32 [slots, count] */
  int64_t count;
  const char *stored; /* "f32", "bf16" or "i8" in the file; null: f32 */
  float bound;        /* rows that nobody wrote are in [-bound, bound), by seed, field and row */
} sinter_row_field;

typedef struct sinter_rows_statistics {
  uint32_t struct_size; /* sizeof(sinter_rows_statistics), set by the caller */
  uint32_t reserved;
  int64_t lookups, distinct, missed, prefetched; /* ids; different ones of each batch; not in a slot; read ahead */
  int64_t read, written;                         /* rows, from and to the folder */
  double waited_s;                               /* for reading and writing */
  double hit_rate;                               /* of the lookups */
} sinter_rows_statistics;

/* Makes a folder for `rows` rows in `shards` files. The caller owns `*table`. */
sinter_status_code sinter_rows_create(const char *folder, const sinter_row_field *fields, int32_t num_fields,
                                      int64_t rows, int64_t shards, uint64_t seed, sinter_rows **table);
/* Opens one as it was flushed last; to serve, not `writable`, also several times. */
sinter_status_code sinter_rows_open(const char *folder, int32_t writable, sinter_rows **table);
/* What was not flushed is lost. Null is ignored. */
void sinter_rows_close(sinter_rows *table);
/* Lets the states of `session`, which must outlive the table, hold rows. `threads` read and write them.
 * sinter_session_load leaves these states as they are then, so that a checkpoint may be of a step with other slots. A
 * table that is open for reading needs only those of its states that the session's function has. */
sinter_status_code sinter_rows_attach(sinter_rows *table, sinter_session *session, int64_t slots, int32_t threads);
/* Brings rows into slots and says where each is: `slots` is what the step looks up. `moves`: the step writes them.
 * Where rows that leave cannot be written, it fails, they stay, and it may be called again. */
sinter_status_code sinter_rows_prepare(sinter_rows *table, const int64_t *rows, int64_t count, int64_t *slots,
                                       int32_t moves);
/* Begins to bring those that the next batch needs, while the step runs, into slots that it does not look up. */
sinter_status_code sinter_rows_prefetch(sinter_rows *table, const int64_t *rows, int64_t count);
/* Writes what moved to the folder, which may then be opened. */
sinter_status_code sinter_rows_flush(sinter_rows *table);
/* Flushes, and writes the rows that changed since the last snapshot to PREFIX-00001-of-NNNNN.safetensors ...; `*files`
 * is NNNNN. */
sinter_status_code sinter_rows_snapshot(sinter_rows *table, const char *prefix, int64_t *files);
/* Takes the rows of one such file. Not after sinter_rows_attach. */
sinter_status_code sinter_rows_apply(sinter_rows *table, const char *file);
/* Replaces all rows by those of the files PREFIX-00001-of-NNNNN.safetensors ..., such as lie beside the best checkpoint
 * of a training (best-STEP-INPUT); others have their first values again. All files are required and checked: where one
 * is missing, damaged or of another table, the table is as it was flushed last. */
sinter_status_code sinter_rows_restore(sinter_rows *table, const char *prefix);
sinter_status_code sinter_rows_get_statistics(const sinter_rows *table, sinter_rows_statistics *statistics);
/* Gives rows their first values again, for ids that are new. */
sinter_status_code sinter_rows_forget(sinter_rows *table, const int64_t *rows, int64_t count);

/* Rows for ids that nobody knew before (RowVocabulary.h). One thread at a time. */

typedef struct sinter_row_vocabulary sinter_row_vocabulary;

/* For a table of `rows` rows: an id has one from its occurrence number `admit_after` on, as long as there are any, and
 * row 0 before; `candidates` ids without one are counted, 0: 2^20. The caller owns `*vocabulary`. */
sinter_status_code sinter_row_vocabulary_create(int64_t rows, int64_t admit_after, int64_t candidates,
                                                sinter_row_vocabulary **vocabulary);
/* Reads what sinter_row_vocabulary_save wrote, a safetensors file. */
sinter_status_code sinter_row_vocabulary_open(const char *path, sinter_row_vocabulary **vocabulary);
sinter_status_code sinter_row_vocabulary_save(const sinter_row_vocabulary *vocabulary, const char *path);
/* Null is ignored. */
void sinter_row_vocabulary_destroy(sinter_row_vocabulary *vocabulary);
/* The row of each of `count` ids. `learns`: this is a batch of training, which counts ids and gives them rows. */
sinter_status_code sinter_row_vocabulary_rows_of(sinter_row_vocabulary *vocabulary, const int64_t *ids, int64_t count,
                                                 int64_t *rows, int32_t learns);
/* Takes their rows from ids that `age` or more batches have not seen and that occurred fewer than `occurrences` times.
 * `*rows`, ascending, is valid until the next call; sinter_rows_forget should get it. */
sinter_status_code sinter_row_vocabulary_evict(sinter_row_vocabulary *vocabulary, int64_t age, int64_t occurrences,
                                               const int64_t **rows, int64_t *count);
/* Ids that have a row, and occurrences that found none while learning. */
sinter_status_code sinter_row_vocabulary_size(const sinter_row_vocabulary *vocabulary, int64_t *size, int64_t *unknown);

/* Where the elements of an array lie: its dtype, rank and dims in `*shape`, whose data stays null, the byte that they
 * begin at, and whether they lie column-major. `name` is a tensor of a safetensors file, null for an npy file. */
sinter_status_code sinter_data_locate(const char *path, const char *name, sinter_tensor *shape, int64_t *offset,
                                      int32_t *fortran);

#ifdef __cplusplus
}
#endif

#endif
