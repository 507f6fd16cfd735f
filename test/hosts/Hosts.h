// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of hosts, for tests that stand on each of them in turn.

#ifndef SINTER_TEST_HOSTS_HOSTS_H
#define SINTER_TEST_HOSTS_HOSTS_H

#include "runtime/host.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

struct ExpectedHost {
  std::string name, level, tuning;
  int bits;
  std::vector<std::string> has, lacks;
  int64_t cacheKiB[3];
  sinter_host host;
};

inline std::string hostPath(const std::string &name) { return std::string(TEST_HOSTS) + "/" + name + ".host"; }

/// Every host of test/hosts/expected.txt, its description read.
inline const std::vector<ExpectedHost> &expectedHosts() {
  static const std::vector<ExpectedHost> hosts = [] {
    std::vector<ExpectedHost> read;
    std::ifstream file(std::string(TEST_HOSTS) + "/expected.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      ExpectedHost host;
      if (line.starts_with("#") || !(words >> host.name >> host.level >> host.bits >> host.tuning))
        continue;
      std::vector<std::string> rest;
      for (std::string word; words >> word;)
        rest.push_back(word);
      for (int i = 0; i < 3; ++i)
        host.cacheKiB[i] = std::stoll(rest[rest.size() - 3 + static_cast<size_t>(i)]);
      rest.resize(rest.size() - 3);
      bool bar = false;
      for (const std::string &word : rest)
        word == "|" ? (void)(bar = true) : (bar ? host.lacks : host.has).push_back(word);
      EXPECT_EQ(sinter_host_read_file(hostPath(host.name).c_str(), &host.host), SINTER_OK) << sinter_last_error();
      read.push_back(host);
    }
    return read;
  }();
  return hosts;
}

/// This process decides by a host for as long as the object lives.
struct UseHost {
  explicit UseHost(const sinter_host &host) { sinter_host_use(&host); }
  ~UseHost() { sinter_host_use(nullptr); }
};

#endif
