package api

import (
	"crypto/sha1" //nolint:gosec // Proxmox VE's digests are SHA-1; they protect nothing.
	"encoding/hex"
	"errors"
)

// Flag returns a Perl boolean.
func Flag(on bool) int {
	if on {
		return 1
	}

	return 0
}

// ErrModified is returned for a digest that no longer matches the file (pve-common SectionConfig.pm, assert_if_modified).
var ErrModified = errors.New("detected modified configuration - file changed by other user? Try again.")

// Digest returns the SHA-1 of a configuration file.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// Folders returns the names below a path, with the key that the method declares.
func Folders(key string, names ...string) []map[string]string {
	list := make([]map[string]string, len(names))
	for i, name := range names {
		list[i] = map[string]string{key: name}
	}

	return list
}
