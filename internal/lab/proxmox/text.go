package proxmox

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // Proxmox VE's digests are SHA-1; they protect nothing.
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sortedNames lists the keys of a map in order.
func sortedNames[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sizeGiB writes a size as the log of a copy does.
func sizeGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// errModified is about a digest that is not that of the file any more (pve-common SectionConfig.pm, assert_if_modified).
var errModified = errors.New("detected modified configuration - file changed by other user? Try again.")

func missingVolume(id string) error { return fmt.Errorf("volume '%s' does not exist", id) }

// digest is the SHA-1 of a configuration file.
func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// folders lists the names below a path, under the key that the method declares.
func folders(key string, names ...string) []map[string]string {
	list := make([]map[string]string, len(names))
	for i, name := range names {
		list[i] = map[string]string{key: name}
	}

	return list
}

func joinComma(names []string) string { return strings.Join(names, ",") }
