package modules_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiledLimit is how many bytes of Go the builds below may read together, of packages that none of them shares with an earlier one.
const compiledLimit = 260e6

// BenchmarkCompiled counts the source that Go compiles with an empty cache for the suite and for the tools that it builds: a package is
// compiled again if it, or something that it imports, has another version or other files. It compiles nothing.
//
//	go test ./tests/modules -run XXX -bench Compiled -benchtime 1x
func BenchmarkCompiled(b *testing.B) {
	for b.Loop() {
		compiled, all := map[[sha256.Size]byte]bool{}, 0
		for _, build := range built {
			added := 0
			for _, p := range packagesOf(b, build.dir, build.packages...) {
				if !compiled[p.identity] {
					compiled[p.identity] = true
					added += p.size
				}
			}
			all += added
			b.Logf("%-26s %6.1f MB", build.dir, float64(added)/1e6)
		}
		b.ReportMetric(float64(all)/1e6, "MB")
		require.Less(b, float64(all), compiledLimit)
	}
}

// compiledPackage is a package of a build.
type compiledPackage struct {
	// identity is the same for packages that the compiler compiles to the same result.
	identity [sha256.Size]byte
	size     int // of its Go files, in bytes
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir            string
	Imports, GoFiles, CgoFiles []string
	ImportMap                  map[string]string
	Module                     *module
}

// module is one at a version, or what replaces it.
type module struct {
	Path, Version string
	Replace       *module
}

// packagesOf returns the packages of a build without C and all that they import, which come first.
func packagesOf(b *testing.B, dir string, args ...string) []compiledPackage {
	b.Helper()
	list := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Imports,GoFiles,CgoFiles,ImportMap,Module"}, args...)...)
	list.Dir = filepath.Join(root, dir)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	output, err := list.Output()
	require.NoError(b, err)
	var all []compiledPackage
	identities := map[string][sha256.Size]byte{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(b, err)
		found := compiledPackage{identity: p.identity(dir, identities)}
		for _, file := range slices.Concat(p.GoFiles, p.CgoFiles) {
			info, err := os.Stat(filepath.Join(p.Dir, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue // the main of a test, which Go writes when it builds it
			}
			require.NoError(b, err)
			found.size += int(info.Size())
		}
		identities[p.ImportPath] = found.identity
		all = append(all, found)
	}
}

// identity computes the identity of a package from those of its imports. A package of a module without a version is of the module in dir.
func (p listed) identity(dir string, of map[string][sha256.Size]byte) [sha256.Size]byte {
	sum := sha256.New()
	fmt.Fprintln(sum, p.ImportPath, p.GoFiles, p.CgoFiles)
	if m := p.Module; m != nil { // else it is one of Go's own
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			m = &module{Path: dir}
		}
		fmt.Fprintln(sum, m.Path, m.Version)
	}
	for _, name := range p.Imports {
		if mapped, ok := p.ImportMap[name]; ok {
			name = mapped
		}
		imported := of[name]
		sum.Write(imported[:])
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
