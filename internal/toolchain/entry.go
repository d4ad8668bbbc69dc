package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// An entry is a folder CACHE/tools/NAME/KEY with the executable in bin/ and a manifest. It is created in another folder, with the
// manifest last, and then renamed. So an interrupted build is never an entry.

const manifestName = "manifest.json"

// manifest describes an entry.
type manifest struct {
	Origin Origin `json:"origin"`
	From   string `json:"from,omitempty"`
	Reason string `json:"reason,omitempty"` // why the official tool could not be installed
	Files  []file `json:"files"`            // the executable first
}

// file is one file of an entry, as it was when the entry was created.
type file struct {
	Path    string    `json:"path"` // relative to the entry, with slashes
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	SHA256  string    `json:"sha256"`
}

// entryDir returns the folder of an entry. Beside it are KEY.lock and, during the entry's creation, KEY.partial.
func (in *installer) entryDir(name, key string) string {
	return filepath.Join(in.cache, "tools", name, key)
}

// present returns an installed tool: the official one if it exists, else the built one.
func (in *installer) present(ctx context.Context, w *wanted) Tool {
	official := in.installed
	switch w.kind {
	case CLI:
		official = in.cliOnPath
	case LanguageHost:
		official = in.languageHostOnPath
	}
	if tool, ok := official(ctx, w); ok {
		return tool
	}
	if tool, ok := in.built(w); ok {
		return tool
	}
	return Tool{Name: w.name, Kind: w.kind, Version: w.version, Origin: w.origin(), From: w.from}
}

// installed returns the official tool that pulumi installed.
func (in *installer) installed(_ context.Context, w *wanted) (Tool, bool) {
	return in.entry(w, w.officialKey())
}

// entry returns the tool of a complete cache entry.
func (in *installer) entry(w *wanted, key string) (Tool, bool) {
	dir := in.entryDir(w.name, key)
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return Tool{}, false
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || len(m.Files) == 0 || !whole(dir, m.Files) {
		return Tool{}, false
	}
	return Tool{
		Name: w.name, Kind: w.kind, Version: w.version, Origin: m.Origin, From: m.From, Reason: m.Reason,
		Path: filepath.Join(dir, filepath.FromSlash(m.Files[0].Path)), Installed: true, files: m.Files, dir: dir,
	}, true
}

// whole reports whether the files are unchanged. It compares size and time; if only the time differs, as in a copied cache, it
// compares the content.
func whole(dir string, files []file) bool {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		info, err := os.Stat(path)
		if err != nil || info.Size() != f.Size {
			return false
		}
		if !info.ModTime().Equal(f.ModTime) {
			now, err := describe(dir, path)
			if err != nil || now.SHA256 != f.SHA256 {
				return false
			}
		}
	}
	return true
}

// seal writes the manifest of a new entry and moves it to its place. Its executable is bin/EXECUTABLE.
func seal(partial, dir, executable string, m manifest) error {
	first := filepath.Join("bin", executable)
	err := filepath.WalkDir(filepath.Join(partial, "bin"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := describe(partial, path)
		m.Files = append(m.Files, f)
		return err
	})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(m.Files, func(f file) bool { return f.Path == filepath.ToSlash(first) })
	if at < 0 {
		return fmt.Errorf("no %s was made", first)
	}
	m.Files[0], m.Files[at] = m.Files[at], m.Files[0]

	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(partial, manifestName), text, 0o600); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // an incomplete entry
		return err
	}
	return os.Rename(partial, dir)
}

func describe(dir, path string) (file, error) {
	f, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return file{}, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return file{}, err
	}
	name, err := filepath.Rel(dir, path)
	return file{
		Path: filepath.ToSlash(name), Size: info.Size(), ModTime: info.ModTime(),
		SHA256: hex.EncodeToString(sum.Sum(nil)),
	}, err
}
