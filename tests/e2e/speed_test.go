package e2e_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is promised on two cores, with tools built and the Go build cache warm.
const (
	coldBuildLimit = 150 * time.Second
	coldBuildBytes = 3 << 30
)

// BenchmarkColdBuild is the build of the program, as `pulumi up` makes it, with an empty Go build cache.
func BenchmarkColdBuild(b *testing.B) {
	if testing.Short() {
		b.Skip("builds everything anew")
	}
	for b.Loop() {
		build := exec.Command("go", "build", "-o", os.DevNull, ".")
		build.Dir = "../.."
		build.Env = append(os.Environ(), "GOCACHE="+b.TempDir())
		timed(b, coldBuildLimit, func() {
			output, err := build.CombinedOutput()
			require.NoError(b, err, "%s", output)
		})
		// The largest of the processes: the compiler of the largest package, or the linker.
		largest := build.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		b.ReportMetric(float64(largest)/(1<<20), "MiB-largest-process")
		b.ReportMetric((build.ProcessState.UserTime() + build.ProcessState.SystemTime()).Seconds(), "cpu-s")
		require.Less(b, largest, int64(coldBuildBytes))
	}
}

func timed(b *testing.B, limit time.Duration, work func()) {
	b.Helper()
	started := time.Now()
	work()
	if took := time.Since(started); took > limit {
		b.Errorf("took %s, more than %s", took.Round(100*time.Millisecond), limit)
	}
}
