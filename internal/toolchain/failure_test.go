package toolchain_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

func TestNoGo(t *testing.T) {
	t.Parallel()
	opts := checkout(t).With(toolchain.Seams{LookPath: found(nil), Probe: offline().Probe})
	_, err := toolchain.Install(t.Context(), opts)
	require.ErrorIs(t, err, toolchain.ErrNoGo)
	require.EqualError(t, err, "go is not on PATH: install Go 1.26 or later (https://go.dev/dl) and run this again")
}

func TestNoSource(t *testing.T) {
	t.Parallel()
	const text = "no em-infra checkout found, and the tools are built from its folder tools: " +
		"run this in a clone of the repository, or set Options.Source to one"
	dir := t.TempDir()
	_, err := toolchain.List(t.Context(), toolchain.Options{Source: dir})
	require.ErrorIs(t, err, toolchain.ErrNoSource)
	require.EqualError(t, err, dir+": "+text)

	write(t, filepath.Join(dir, "go.mod"), "module github.com/em-infra/em-infra\n")
	_, err = toolchain.List(t.Context(), toolchain.Options{Source: dir})
	require.EqualError(t, err, dir+": "+text, "a module without its tools, as from a module proxy")
}

func TestUnknownVersion(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	write(t, filepath.Join(opts.Source, "go.mod"), "module github.com/em-infra/em-infra\n")
	_, err := toolchain.List(t.Context(), opts)
	require.EqualError(t, err,
		opts.Source+" requires no github.com/pulumi/pulumi/sdk/v3, so the version of its plugin is not known")
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"terraform"}
	_, err := toolchain.Install(t.Context(), opts)
	require.EqualError(t, err, `there is no tool "terraform": choose from those of `+"`em-infra tools list`")
}

func TestCompileError(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"talos"}
	progress := &log{}
	opts.Progress = progress
	write(t, filepath.Join(opts.Source, "tools/bridge/talos/plugin/main.go"), "package main\n\nfunc main() { x }\n")
	_, err := toolchain.Install(t.Context(), opts)
	var failed *toolchain.BuildError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "talos", failed.Tool)
	require.EqualError(t, err, `build talos: the go command failed (exit status 1) in tools: `+
		`run git status there if it was changed, else report the lines below
  # github.com/em-infra/em-infra/tools/bridge/talos/plugin
  bridge/talos/plugin/main.go:3:15: undefined: x`)
	left, err := filepath.Glob(filepath.Join(opts.CacheDir, "tools", "talos", "*"))
	require.NoError(t, err)
	require.Len(t, left, 1, "only the lock: %v", left)
}

func TestModuleThatCannotBeDownloaded(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	tools := filepath.Join(opts.Source, "tools")
	write(t, filepath.Join(tools, "go.mod"), "module github.com/em-infra/em-infra/tools\n\ngo 1.26\n\n"+
		"require example.org/lost v1.2.3\n")
	write(t, filepath.Join(tools, "go.sum"),
		"example.org/lost v1.2.3 h1:"+strings.Repeat("A", 43)+"=\nexample.org/lost v1.2.3/go.mod h1:"+
			strings.Repeat("A", 43)+"=\n")
	write(t, filepath.Join(tools, "standin/command/plugin/main.go"),
		"package main\n\nimport _ \"example.org/lost\"\n\nfunc main() {}\n")
	_, err := toolchain.Install(t.Context(), opts)
	require.EqualError(t, err, "build command: a module (the last that was tried is example.org/lost v1.2.3) could "+
		"not be downloaded: set GOPROXY to a proxy that serves it (go env GOPROXY shows the present one) and run this "+
		"again\n  standin/command/plugin/main.go:3:8: module lookup disabled by GOPROXY=off")
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	const download = " could not be downloaded: set GOPROXY to a proxy that serves it " +
		"(go env GOPROXY shows the present one) and run this again"
	for output, want := range map[string]string{
		"main.go:1:2: github.com/a/b@v1.0.0: Get \"https://proxy/x.zip\": dial tcp: lookup proxy: no such host": "module " +
			"github.com/a/b@v1.0.0" + download,
		"go: github.com/a/b/v2@v2.1.0-rc.1: reading https://proxy/x.mod: 403 Forbidden": "module " +
			"github.com/a/b/v2@v2.1.0-rc.1" + download,
		"Get \"https://proxy/x\": net/http: TLS handshake timeout": "a module" + download,
		"/usr/lib/go/pkg/tool/link: signal: killed": "the system killed the compiler or linker, which happens when " +
			"memory runs out: free about 2 GiB and run this again",
		"x.go:3:8: missing go.sum entry for module providing package a.org/b": "tools/go.mod and go.sum do not hold " +
			"all that the build needs: restore them with git, or run go mod tidy there",
		"verifying a.org/b@v1.0.0: checksum mismatch\n\tdownloaded: h1:x\n\tgo.sum: h1:y\n\nSECURITY ERROR": "a " +
			"downloaded module is not the one that go.sum knows: set GOPROXY to a proxy that serves it unchanged, or run " +
			"go clean -modcache if the copy here is damaged",
		"go: go.mod requires go >= 1.26.0 (running go 1.25.1; GOTOOLCHAIN=local)": "the go command on PATH is too old: " +
			"install the Go version that the lines below ask for",
		"panic: surprise": "the go command failed (exit status 2) in tools: run git status there if it was changed, " +
			"else report the lines below",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, toolchain.Diagnose(output, "tools", errors.New("exit status 2")))
		})
	}
}

func TestNoSpaceIsSeenBeforeTheBuild(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	machine := offline()
	machine.FreeSpace = func(string) (int64, error) { return 900 << 20, nil }
	cache := filepath.Join(t.TempDir(), "go-build") // on the same disk as the cache
	machine.Environ = func() []string { return append(os.Environ(), "GOCACHE="+cache, "GOMODCACHE="+cache) }
	_, err := toolchain.Install(t.Context(), opts.With(machine))
	require.ErrorIs(t, err, toolchain.ErrNoSpace)
	require.EqualError(t, err, fmt.Sprintf("no space to build pulumi, proxmoxve, talos, command, kubernetes: the disk of %[1]s "+
		"has 900 MiB free, and 7.7 GiB are needed: free some (df -h %[1]s), or set EM_INFRA_CACHE, GOCACHE and GOMODCACHE to "+
		"folders on another disk", opts.CacheDir))
	require.NoDirExists(t, cache)
}

func TestSecondBuildNeedsLittleSpace(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	install(t, opts)
	write(t, filepath.Join(opts.Source, "tools/standin/command/plugin/more.go"), "package main\n")
	machine := offline()
	machine.FreeSpace = func(string) (int64, error) { return 65 << 20, nil }
	install(t, opts.With(machine))
}

// fakeGo returns a machine with a fake go command. The test gives the script of "go build".
func fakeGo(t *testing.T, build string) toolchain.Seams {
	t.Helper()
	machine := offline()
	dir := t.TempDir()
	machine.LookPath = found(map[string]string{"go": script(t, `
case $1 in
env) echo '{"GOCACHE": "`+dir+`", "GOMODCACHE": "`+dir+`"}' ;;
build) `+build+` ;;
esac
`)})
	return machine
}

func TestSpaceThatRunsOutInTheBuild(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"talos"}
	machine := fakeGo(t, `echo "compile: writing output: write $WORK/b001/_pkg_.a: no space left on device" >&2; exit 1`)
	free := int64(3 << 30)
	machine.FreeSpace = func(string) (int64, error) {
		defer func() { free = 5 << 20 }()
		return free, nil
	}
	_, err := toolchain.Install(t.Context(), opts.With(machine))
	require.ErrorIs(t, err, toolchain.ErrNoSpace)
	require.ErrorContains(t, err, "no space left to build talos ("+opts.CacheDir+" has 5 MiB free, ")
	require.ErrorContains(t, err, "): free some (df -h), or set EM_INFRA_CACHE, GOCACHE and GOMODCACHE to folders on "+
		"another disk; what was built stays")
}

func TestCancelEndsTheBuildWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	pids := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	failed := make(chan error, 1)
	go func() {
		_, err := toolchain.Install(ctx, opts.With(fakeGo(t, "sleep 300 & echo $! > "+pids+"; wait")))
		failed <- err
	}()
	var compiler int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(pids)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		compiler, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, time.Minute, 5*time.Millisecond)

	cancel(interrupted)
	err := <-failed
	require.ErrorIs(t, err, interrupted)
	require.EqualError(t, err, "build command: interrupted")
	require.Eventually(t, func() bool {
		process, err := os.FindProcess(compiler)
		return err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
	}, time.Minute, 5*time.Millisecond, "a process of the build still exists")

	left, err := filepath.Glob(filepath.Join(opts.CacheDir, "tools", "command", "*"))
	require.NoError(t, err)
	require.Len(t, left, 1, "only the lock: %v", left)
	out, err := exec.Command(install(t, opts).Tools[0].Path).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "1.2.1\n", string(out))
}

func TestCancelEndsTheWaitForAnotherProcess(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	release, err := toolchain.Lock(t.Context(), opts, "command")
	require.NoError(t, err)
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	opts.Progress = onWord("waiting for process ", func() { cancel(errors.New("interrupted")) })
	_, err = toolchain.Install(ctx, opts)
	require.EqualError(t, err, "get command v1.2.1: interrupted")
}

// onWord returns a writer that calls do for each text that contains certain words.
func onWord(words string, do func()) io.Writer {
	return writer(func(text []byte) (int, error) {
		if strings.Contains(string(text), words) {
			do()
		}
		return len(text), nil
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }
