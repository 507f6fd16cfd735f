// A compiler that names a back end.
#include "backends/cpu/Target.h"
#include "backends/schedule/Backends.h"
