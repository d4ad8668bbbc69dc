package toolchain

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/diskspace"
)

// BuildError is a build that failed because of the machine, its network, or this project's sources.
type BuildError struct {
	Tool   string // as in Tool.Name
	What   string // one sentence: what is wrong and what to do
	Output string // the last lines that the go command wrote
}

// Error returns the sentence with the output under it.
func (e *BuildError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("build %s: %s", e.Tool, e.What)
	}
	return fmt.Sprintf("build %s: %s\n  %s", e.Tool, e.What, strings.ReplaceAll(e.Output, "\n", "\n  "))
}

// shownLines is how many lines of go's output an error shows.
const shownLines = 12

// explainBuild turns the error of a failed build into an error that tells the user what to do.
func (in *installer) explainBuild(ctx context.Context, g goCommand, w *wanted, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", w.name, context.Cause(ctx))
	}
	var failed *goError
	compiled := errors.As(err, &failed)
	if diskspace.IsUsedUp(err) || compiled && strings.Contains(failed.output, diskspace.UsedUp) {
		return in.spaceRanOut(g, w)
	}
	if !compiled {
		return fmt.Errorf("build %s: %w", w.name, err)
	}
	lines := slices.DeleteFunc(strings.Split(failed.output, "\n"), func(line string) bool {
		return strings.HasPrefix(line, downloading)
	})
	return &BuildError{
		Tool:   w.name,
		What:   diagnose(failed.output, w.module, failed.err),
		Output: strings.Join(lines[max(0, len(lines)-shownLines):], "\n"),
	}
}

// versioned matches the module in go's messages about a module that it cannot download: "go: example.org/a@v1.2.3: reading ...",
// "example.org/a@v1.2.3: Get ...".
var versioned = regexp.MustCompile(`([\w.\-/~]+\.[\w.\-/~]+@v[\w.\-+]+): `)

// diagnose returns the cause of a failed build and what to do, from the go command's messages (cmd/go/internal/modfetch, modload
// and web).
func diagnose(output, module string, err error) string {
	has := func(texts ...string) bool {
		for _, text := range texts {
			if strings.Contains(output, text) {
				return true
			}
		}
		return false
	}
	switch {
	case has("signal: killed"):
		return "the system killed the compiler or linker, which happens when memory runs out: " +
			"free about 2 GiB and run this again"
	case has("missing go.sum entry", "updates to go.mod needed"):
		return fmt.Sprintf("%s/go.mod and go.sum do not hold all that the build needs: "+
			"restore them with git, or run go mod tidy there", module)
	case has("SECURITY ERROR", "checksum mismatch"):
		return "a downloaded module is not the one that go.sum knows: " +
			"set GOPROXY to a proxy that serves it unchanged, or run go clean -modcache if the copy here is damaged"
	case has("go.mod requires go >=", "requires go >="):
		return "the go command on PATH is too old: install the Go version that the lines below ask for"
	case has("dial tcp", "i/o timeout", "Forbidden", "404 Not Found", "410 Gone", "module lookup disabled",
		"connection refused", "no such host", "Bad Gateway", "Service Unavailable", "TLS handshake", "x509:"):
		return fmt.Sprintf("%s could not be downloaded: "+
			"set GOPROXY to a proxy that serves it (go env GOPROXY shows the present one) and run this again", lost(output))
	default:
		return fmt.Sprintf("the go command failed (%v) in %s: run git status there if it was changed, "+
			"else report the lines below", err, module)
	}
}

// lost returns the module that could not be downloaded, if go names it.
func lost(output string) string {
	if match := versioned.FindStringSubmatch(output); match != nil {
		return "module " + match[1]
	}
	if at := strings.LastIndex(output, downloading); at >= 0 {
		tried, _, _ := strings.Cut(output[at+len(downloading):], "\n")
		return fmt.Sprintf("a module (the last that was tried is %s)", tried)
	}
	return "a module"
}
