package toolchain

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// wanted is a tool of the catalogue in the version that the program needs.
type wanted struct {
	spec
	version string // with the v
	from    string // the Go module, with its version, that a build is made from; empty for a stand-in
	key     string // of the cache entry of a build: the version and a hash of its inputs; empty without a checkout
	reason  string // why the official tool could not be installed, if that was tried
}

// want finds a tool's version and computes its key.
func want(s spec, source string, v versions) (wanted, error) {
	w := wanted{spec: s}
	var err error
	if s.kind != Lab {
		if w.version, err = v.sdk(s.sdk); err != nil {
			return wanted{}, err
		}
	}
	if source == "" {
		return w, nil
	}
	if s.upstream != "" {
		version, err := v.upstream(filepath.Join(s.module, cmp.Or(s.modFile, "go.mod")), s.upstream)
		if err != nil {
			return wanted{}, err
		}
		w.from = s.upstream + " " + version
		if s.kind != Plugin {
			w.version = version // a build reports this version, no matter which version the program needs
		}
	}
	sum, err := w.hash(source)
	if err != nil {
		return wanted{}, fmt.Errorf("read the sources of %s: %w", s.name, err)
	}
	w.key = w.version + "-" + sum
	return w, nil
}

// officialKey names the cache entry of an official plugin.
func (w wanted) officialKey() string { return w.version + "-official" }

// ldflags sets the version and omits debug information.
func (w wanted) ldflags() string {
	return fmt.Sprintf("-s -w -X %s=%s%s", w.versionVar, w.versionPrefix, strings.TrimPrefix(w.version, "v"))
}

// hash returns a hash of the inputs of a build. It contains the Go version of the running program. To ask the go command would take
// longer than all the rest, and a cached tool needs no go command.
func (w wanted) hash(source string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, w.name, w.main, w.ldflags(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	root := filepath.Join(source, w.module)
	for _, path := range w.sources {
		// WalkDir walks in lexical order, so the hash is stable.
		err := filepath.WalkDir(filepath.Join(root, path), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !isBuilt(entry) {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return addFile(sum, name, path)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

func isBuilt(entry fs.DirEntry) bool {
	return entry.Type().IsRegular() && !strings.HasSuffix(entry.Name(), "_test.go")
}

func addFile(sum hash.Hash, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintln(sum, filepath.ToSlash(name), info.Size())
	_, err = io.Copy(sum, file)
	return err
}
