package toolchain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoBuild means that a tool must be built, and that there are no sources to build it from.
var ErrNoBuild = errors.New("there is no clone of em-infra here to build it from")

// checkOfficial returns an error if, without a checkout, a missing tool can only be built, or must be installed by hand.
func (in *installer) checkOfficial(missing []*wanted) error {
	if in.source != "" {
		return nil
	}
	return noBuild(slices.DeleteFunc(slices.Clone(missing), func(w *wanted) bool { return w.kind == Plugin }))
}

// noBuild returns an error that says what to do about tools that are missing without a checkout; nil if none is missing.
func noBuild(missing []*wanted) error {
	if len(missing) == 0 {
		return nil
	}
	w := missing[0]
	if lab := only(missing, Lab); len(lab) > 0 {
		w = lab[0] // a clone, which it needs, builds the others, too
	}
	switch w.kind {
	case CLI:
		return fmt.Errorf("pulumi %s or a later minor release is not on PATH, and %w: install it (https://www.pulumi.com/docs/install), or run this in a clone", w.version, ErrNoBuild)
	case LanguageHost:
		return fmt.Errorf("pulumi-%s is not on PATH, and %w: install Pulumi (https://www.pulumi.com/docs/install), which has it, or run this in a clone", w.name, ErrNoBuild)
	case Lab:
		return fmt.Errorf("rehearsals need %s, which is not published anywhere, and %w: run rehearsals in a clone, or once `em-infra tools install --lab` there, which keeps it for all folders", w.name, ErrNoBuild)
	default:
		return fmt.Errorf("the official plugin %s %s cannot be had (%s), and %w: run this again with a connection to %s, or in a clone", w.name, w.version, w.reason, ErrNoBuild, w.host())
	}
}

// built returns the tool that was built from the sources of the checkout. Without a checkout it returns the newest build of that
// version in the cache. A clone on this machine has made that build.
func (in *installer) built(w *wanted) (Tool, bool) {
	if in.source != "" {
		return in.entry(w, w.key)
	}
	entries, err := os.ReadDir(filepath.Join(in.cache, "tools", w.name))
	if err != nil {
		return Tool{}, false
	}
	var newest Tool
	var made time.Time
	for _, entry := range entries {
		version, ok := builtVersion(w, entry.Name())
		info, err := os.Stat(filepath.Join(in.entryDir(w.name, entry.Name()), manifestName))
		if !ok || err != nil || !info.ModTime().After(made) {
			continue
		}
		if tool, whole := in.entry(w, entry.Name()); whole {
			tool.Version = version
			newest, made = tool, info.ModTime()
		}
	}
	return newest, newest.Installed
}

// builtVersion returns the version in the key of a build; ok is false for a key of another version, or of an official plugin.
func builtVersion(w *wanted, key string) (version string, ok bool) {
	at := strings.LastIndexByte(key, '-')
	if at < 0 || key == w.officialKey() {
		return "", false
	}
	return key[:at], w.version == "" || key[:at] == w.version
}
