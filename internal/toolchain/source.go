package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// module is this project's Go module. The modules under tools/ are separate.
const module = "github.com/em-infra/em-infra"

// ErrNoSource means that there is no checkout with the sources of the tools.
var ErrNoSource = errors.New("no em-infra checkout found, and the tools are built from its folder tools: " +
	"run this in a clone of the repository, or set Options.Source to one")

// findSource returns the root of the checkout: given, or that of the working directory, or that of an embedding program.
func findSource(ctx context.Context, given string) (string, error) {
	if given != "" {
		if !isSource(given) {
			return "", fmt.Errorf("%s: %w", given, ErrNoSource)
		}
		return filepath.Abs(given)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if isSource(at) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	// A program that embeds em-infra may replace the module by a clone, which contains the tools. A module from a proxy does not
	// contain them, because its zip omits nested modules.
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if found := strings.TrimSpace(string(out)); err == nil && isSource(found) {
		return found, nil
	}
	return "", ErrNoSource
}

// isSource reports whether a folder is the root of this project's module and contains the tools.
func isSource(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || modfile.ModulePath(text) != module {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "tools", "go.mod"))
	return err == nil
}

// DefaultCacheDir returns $EM_INFRA_CACHE, or else the folder em-infra in the user's cache folder. If neither XDG_CACHE_HOME nor
// HOME is set, it returns the folder .cache of the checkout.
func DefaultCacheDir(source string) string {
	if dir := os.Getenv("EM_INFRA_CACHE"); dir != "" {
		return dir
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "em-infra")
	}
	return filepath.Join(source, ".cache")
}
