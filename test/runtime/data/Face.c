/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The C face, from C11: sinter_data_face FOLDER writes files there, reads them, and prints what differs. */
#include "runtime/data/data.h"
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char *what) {
  if (!holds) {
    ++failures;
    printf("differs: %s (%s)\n", what, sinter_last_error());
  }
}

static void expectError(sinter_status_code got, sinter_status_code wanted, const char *message) {
  if (got != wanted || !strstr(sinter_last_error(), message)) {
    ++failures;
    printf("required %d '%s', got %d '%s'\n", (int)wanted, message, (int)got, sinter_last_error());
  }
}

static char path[4][512];

static void writeFile(int i, const char *folder, const char *name, const char *text, int rows) {
  snprintf(path[i], sizeof path[i], "%s/%s", folder, name);
  FILE *file = fopen(path[i], "w");
  fputs(text, file);
  for (int r = 0; r < rows; ++r)
    fprintf(file, "%d,%s,%d\n", r, r % 3 ? "red" : "blue", r % 2);
  fclose(file);
}

/* Fitted columns, trained on, stopped and gone on with. */
static void columns(void) {
  sinter_columns *made = NULL, *columns = NULL;
  sinter_data *table = NULL, *shuffled = NULL, *epochs = NULL, *batches = NULL;
  sinter_loader *loader = NULL, *resumed = NULL;
  expect(!sinter_columns_load(path[1], &made) && !sinter_data_open_features(path[0], made, 7, &table), "open");
  expectError(sinter_data_transform(table, made, 0, &batches), SINTER_INVALID_ARGUMENT,
              "column 'n' requires to be fitted first");
  expect(!sinter_columns_fit(made, table) && !sinter_columns_save(made, path[1]), "fit");
  sinter_columns_release(made);
  expect(!sinter_columns_load(path[1], &columns), "load what was saved");
  expect(!sinter_data_shuffle(table, 20, 7, 8, 1, &shuffled) && !sinter_data_repeat(shuffled, 2, &epochs) &&
             !sinter_data_transform(epochs, columns, 2, &batches),
         "derive");
  sinter_data_release(table); /* what was made from them stays */
  sinter_data_release(shuffled);
  sinter_data_release(epochs);
  sinter_columns_release(columns);
  expect(!sinter_loader_create(batches, &loader) && !sinter_loader_create(batches, &resumed), "loaders");
  int32_t more = 1, count = 0;
  double sum = 0;
  for (; !sinter_loader_next(loader, &more) && more; ++count) {
    sinter_tensor x = {0}, y;
    expect(sinter_loader_num_columns(loader) == 2 && !strcmp(sinter_loader_name(loader, 0), "x") &&
               sinter_loader_find(loader, "y") == 1 && sinter_loader_find(loader, "z") == -1 &&
               !sinter_loader_name(loader, 2),
           "names");
    expect(!sinter_loader_column(loader, 0, &x) && !sinter_loader_column(loader, 1, &y), "columns");
    expect(x.dtype == SINTER_F32 && x.rank == 2 && x.dims[0] == 8 && x.dims[1] == 3, "sizes");
    for (int r = 0; r < 8; ++r) {
      const float *row = (const float *)x.data + 3 * r;
      sum += row[0];
      expect(row[1] + row[2] == 1, "one of two words");
    }
    if (count == 6) {
      const void *state = NULL;
      int64_t bytes = 0;
      expect(!sinter_loader_save(loader, &state, &bytes) && !sinter_loader_load(resumed, state, bytes), "state");
    }
    if (count > 6) {
      sinter_tensor again = {0};
      int32_t isThere = 0;
      expect(!sinter_loader_next(resumed, &isThere) && isThere && !sinter_loader_column(resumed, 0, &again) &&
                 !memcmp(again.data, x.data, 8 * 3 * sizeof(float)),
             "what follows a state");
    }
  }
  expect(count == 24 && !more, "two epochs of 12 batches");
  expect(sum > -14 && sum < 14, "a mean of 0 but for the 4 rows left out in each epoch");
  expectError(sinter_loader_load(resumed, "x", 1), SINTER_INVALID_ARGUMENT,
              "loading a state requires a loader that has read nothing");
  sinter_loader_destroy(loader);
  sinter_loader_destroy(resumed);
  sinter_data_release(batches);
}

static void values(void) {
  sinter_data *lines = NULL, *shard = NULL, *good = NULL, *ahead = NULL;
  sinter_loader *loader = NULL;
  int32_t more;
  expect(!sinter_data_open(path[2], 3, &lines) && !sinter_data_shard(lines, 0, 1, &shard) &&
             !sinter_data_skip_errors(shard, -1, &good) && !sinter_data_prefetch(good, 2, &ahead) &&
             !sinter_loader_create(ahead, &loader) && !sinter_loader_next(loader, &more) && more,
         "lines");
  const int64_t *splits = NULL;
  int64_t rows = 0, bytes = 0;
  sinter_tensor view;
  const char *text = NULL;
  expect(!sinter_loader_splits(loader, 0, &splits, &rows) && rows == 3 && splits[1] == 2 && splits[2] == 2 &&
             splits[3] == 3 && !sinter_loader_column(loader, 0, &view) && view.dims[0] == 3,
         "ragged");
  expect(!sinter_loader_splits(loader, 1, &splits, &rows) && rows == 0 && !splits, "not ragged");
  expect(!sinter_loader_string(loader, 1, 2, &text, &bytes) && bytes == 3 && !memcmp(text, "two", 3), "string");
  expectError(sinter_loader_column(loader, 1, &view), SINTER_INVALID_ARGUMENT, "a tensor of numbers is required");
  expectError(sinter_loader_column(loader, 2, &view), SINTER_INVALID_ARGUMENT, "a column below 2 is required, got 2");
  expectError(sinter_loader_string(loader, 1, 3, &text, &bytes), SINTER_INVALID_ARGUMENT,
              "an element below 3 is required, got 3");
  sinter_loader_destroy(loader);
  sinter_data_release(ahead);
  sinter_data_release(good);
  sinter_data_release(shard);
  sinter_data_release(lines);
}

static void errors(void) {
  sinter_data *data = NULL;
  sinter_columns *columns = NULL;
  sinter_loader *loader = NULL;
  int32_t more;
  expectError(sinter_data_open("/none.csv", 3, &data), SINTER_IO, "/none.csv");
  expectError(sinter_data_open(path[0], 0, &data), SINTER_INVALID_ARGUMENT, "a batch requires 1 row or more, got 0");
  expectError(sinter_data_open(NULL, 3, &data), SINTER_INVALID_ARGUMENT,
              "sinter_data_open requires pointers, got null");
  expectError(sinter_data_repeat(NULL, 3, &data), SINTER_INVALID_ARGUMENT, "sinter_data_repeat requires pointers");
  expectError(sinter_data_transform(NULL, NULL, 0, &data), SINTER_INVALID_ARGUMENT, "sinter_data_transform requires");
  expectError(sinter_columns_load(path[0], &columns), SINTER_CORRUPT, "columns are required to be JSON");
  expect(sinter_loader_num_columns(NULL) == 0 && !sinter_loader_name(NULL, 0) && sinter_loader_find(NULL, "") == -1,
         "nulls");
  expect(!sinter_data_open(path[3], 2, &data) && !sinter_loader_create(data, &loader), "a bad table");
  expect(!sinter_loader_next(loader, &more) && more == 1, "a batch before the bad row");
  expectError(sinter_loader_next(loader, &more), SINTER_CORRUPT, "a row of 2 fields is required, got 1");
  expect(!sinter_loader_next(loader, &more) && more == 0, "nothing behind it");
  sinter_loader_destroy(loader);
  sinter_data_release(data);
}

static void arrays(const char *folder) {
  char name[512];
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  sinter_tensor tensor = {.data = numbers, .dtype = SINTER_F32, .rank = 2, .dims = {2, 3}}, shape;
  int64_t offset = 0;
  int32_t fortran = 1;
  for (int i = 0; i < 2; ++i) {
    const char *names = "w";
    snprintf(name, sizeof name, "%s/%s", folder, i ? "a.safetensors" : "a.npy");
    expect(!(i ? sinter_safetensors_write(name, &names, &tensor, 1) : sinter_npy_write(name, &tensor)), "write");
    expect(!sinter_data_locate(name, i ? "w" : NULL, &shape, &offset, &fortran) && !fortran && shape.rank == 2 &&
               shape.dims[1] == 3 && shape.dtype == SINTER_F32 && !shape.data,
           "locate");
    float read[6];
    FILE *file = fopen(name, "rb");
    expect(!fseek(file, (long)offset, SEEK_SET) && fread(read, 4, 6, file) == 6 && !memcmp(read, numbers, sizeof read),
           "elements where they are said to be");
    fclose(file);
  }
  expectError(sinter_data_locate(name, "z", &shape, &offset, &fortran), SINTER_INVALID_ARGUMENT,
              "tensor 'z' is required");
}

static void vocabulary(const char *folder) {
  char name[512], store[512];
  sinter_row_vocabulary *known = NULL, *again = NULL;
  sinter_rows *table = NULL;
  sinter_row_field field = {"t", 2, NULL, 0};
  const int64_t *evicted = NULL;
  int64_t ids[5] = {700, 800, 700, -3, 800}, rows[5], count = 0, size = 0, unknown = 0;
  snprintf(name, sizeof name, "%s/ids.safetensors", folder);
  snprintf(store, sizeof store, "%s/rows", folder);
  expect(!sinter_row_vocabulary_create(4, 2, 0, &known) && !sinter_row_vocabulary_rows_of(known, ids, 5, rows, 1) &&
             rows[0] == 0 && rows[1] == 0 && rows[2] == 1 && rows[3] == 0 && rows[4] == 2,
         "ids have a row from their second occurrence on");
  expect(!sinter_row_vocabulary_size(known, &size, &unknown) && size == 2 && unknown == 3, "size");
  expect(!sinter_row_vocabulary_save(known, name) && !sinter_row_vocabulary_open(name, &again) &&
             !sinter_row_vocabulary_rows_of(again, ids + 3, 2, rows, 0) && rows[0] == 0 && rows[1] == 2,
         "saved and opened");
  expect(!sinter_row_vocabulary_rows_of(known, ids, 1, rows, 1) &&
             !sinter_row_vocabulary_evict(known, 1, INT64_MAX, &evicted, &count) && count == 1 && evicted[0] == 2,
         "what the last batch did not see goes");
  expect(!sinter_rows_create(store, &field, 1, 4, 1, 0, &table) && !sinter_rows_forget(table, evicted, count),
         "its row is forgotten");
  rows[0] = 4;
  expectError(sinter_rows_forget(table, rows, 1), SINTER_INVALID_ARGUMENT, "a table requires rows from 0 to 3, got 4");
  expectError(sinter_rows_forget(NULL, rows, 1), SINTER_INVALID_ARGUMENT, "requires pointers, got null");
  expectError(sinter_row_vocabulary_create(1, 1, 0, &again), SINTER_INVALID_ARGUMENT, "requires 2 to 2^32 rows, got 1");
  expectError(sinter_row_vocabulary_create(4, 1, 0, NULL), SINTER_INVALID_ARGUMENT, "requires pointers, got null");
  expectError(sinter_row_vocabulary_open("/none", &again), SINTER_IO, "/none");
  expectError(sinter_row_vocabulary_open(NULL, &again), SINTER_INVALID_ARGUMENT, "requires pointers, got null");
  expectError(sinter_row_vocabulary_save(known, NULL), SINTER_INVALID_ARGUMENT, "requires pointers, got null");
  expectError(sinter_row_vocabulary_rows_of(known, ids, 5, NULL, 1), SINTER_INVALID_ARGUMENT, "pointers, got null");
  expectError(sinter_row_vocabulary_rows_of(known, ids, -1, rows, 1), SINTER_INVALID_ARGUMENT, "a count of 0 or more");
  expectError(sinter_row_vocabulary_evict(known, 1, 1, NULL, &count), SINTER_INVALID_ARGUMENT, "pointers, got null");
  expectError(sinter_row_vocabulary_size(known, NULL, &unknown), SINTER_INVALID_ARGUMENT, "pointers, got null");
  expect(!sinter_rows_snapshot(table, store, &count) && count == 1 && !sinter_rows_restore(table, store),
         "rows are restored from a snapshot");
  expectError(sinter_rows_restore(table, "/none/best"), SINTER_INVALID_ARGUMENT,
              "requires files /none/best-00001-of-NNN");
  expectError(sinter_rows_restore(table, NULL), SINTER_INVALID_ARGUMENT, "requires pointers, got null");
  sinter_rows_close(table);
  sinter_row_vocabulary_destroy(known);
  sinter_row_vocabulary_destroy(again);
  sinter_row_vocabulary_destroy(NULL);
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  writeFile(0, argv[1], "t.csv", "n,word,y\n", 100);
  writeFile(
      1, argv[1], "columns.json",
      "{\"columns\": [{\"name\": \"n\", \"normalize\": true, \"into\": \"x\"},"
      "{\"name\": \"word\", \"kind\": \"vocabulary\", \"as\": \"indicator\", \"into\": \"x\"}, {\"name\": \"y\"}]}",
      0);
  writeFile(2, argv[1], "lines.jsonl",
            "{\"v\": [1, 2], \"s\": \"zero\"}\n{\"v\": [], \"s\": \"one\"}\n{\"v\": [3], \"s\": \"two\"}\n", 0);
  writeFile(3, argv[1], "bad.csv", "a,b\n1,2\n3\n", 0);
  columns();
  values();
  errors();
  arrays(argv[1]);
  vocabulary(argv[1]);
  printf("%d failures\n", failures);
  return failures != 0;
}
