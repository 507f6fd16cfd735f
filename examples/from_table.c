// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a table to a trained network, in a C program without any framework: columns `u`, `v` (made `x`) and `label`,
// fitted, shuffled and put into batches by the library of data, train the network of spirals.mlir.
//
//   sinter train-step spirals.mlir --loss cross_entropy --optimizer adam:lr=0.01 --init 1 -o net.o
//   cc -I. -c from_table.c
//   c++ from_table.o net.o libsinter_data.a libsinter_rt.a -lz -lpng -ljpeg -lpthread -ldl -lm -o from_table
//   ./from_table points.csv columns.json

#include "net.h"
#include <sinter/data/data.h>

#include <stdio.h>

enum { Rows = 32, Epochs = 2000 };

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fail("usage: from_table TABLE COLUMNS");
  sinter_columns *columns;
  sinter_data *rows, *moved, *batches, *epochs;
  sinter_loader *loader;
  if (sinter_columns_load(argv[2], &columns) || sinter_data_open_features(argv[1], columns, Rows, &rows) ||
      sinter_columns_fit(columns, rows) || sinter_data_shuffle(rows, 1000, 7, Rows, 1, &moved) ||
      sinter_data_transform(moved, columns, 1, &batches) || sinter_data_repeat(batches, Epochs, &epochs) ||
      sinter_loader_create(epochs, &loader))
    return fail(sinter_last_error());
  net *object = net_init(1);
  if (!object)
    return fail(net_error());

  int32_t more = 1;
  for (int step = 0;; ++step) {
    if (sinter_loader_next(loader, &more))
      return fail(sinter_last_error());
    if (!more)
      break;
    sinter_tensor x, labels;
    float loss;
    if (sinter_loader_column(loader, sinter_loader_find(loader, "x"), &x) ||
        sinter_loader_column(loader, sinter_loader_find(loader, "label"), &labels))
      return fail(sinter_last_error());
    if (net_step(object, x.dims[0], x.data, labels.data, &loss))
      return fail(net_error());
    if (step % 2000 == 0)
      printf("step %4d: loss %.4f\n", step, (double)loss);
  }

  sinter_data *all; // how many it knows in the end
  if (sinter_data_transform(rows, columns, 0, &all))
    return fail(sinter_last_error());
  sinter_loader_destroy(loader);
  if (sinter_loader_create(all, &loader))
    return fail(sinter_last_error());
  int64_t right = 0, count = 0;
  while (!sinter_loader_next(loader, &more) && more) {
    sinter_tensor x, labels;
    float scores[Rows][2];
    if (sinter_loader_column(loader, sinter_loader_find(loader, "x"), &x) ||
        sinter_loader_column(loader, sinter_loader_find(loader, "label"), &labels))
      return fail(sinter_last_error());
    if (net_infer(object, x.dims[0], x.data, scores[0]))
      return fail(net_error());
    for (int64_t i = 0; i < x.dims[0]; ++i, ++count)
      right += (scores[i][1] > scores[i][0]) == ((const int64_t *)labels.data)[i];
  }
  printf("%lld of %lld right\n", (long long)right, (long long)count);
  net_free(object);
  sinter_loader_destroy(loader);
  sinter_data_release(rows);
  sinter_data_release(moved);
  sinter_data_release(batches);
  sinter_data_release(epochs);
  sinter_data_release(all);
  sinter_columns_release(columns);
  return 0;
}
