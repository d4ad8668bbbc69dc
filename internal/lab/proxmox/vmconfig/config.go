// Package vmconfig holds the configuration of an emulated VM in Proxmox VE's normal form: one line of text per setting, with
// disks and network cards as property strings.
package vmconfig

import (
	"crypto/sha1" //nolint:gosec // Proxmox VE's digest is a SHA-1 of the file; it protects nothing.
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Config is a VM's settings by name. Pending has the changes that wait for the VM's next start.
type Config struct {
	Values  map[string]string `json:"values"`
	Pending map[string]string `json:"pending,omitempty"`
	// Deleted are settings that disappear at the next start.
	Deleted []string `json:"deleted,omitempty"`
}

// New returns a configuration without settings.
func New() *Config { return &Config{Values: map[string]string{}} }

// Clone returns an independent copy.
func (c *Config) Clone() *Config {
	return &Config{Values: maps.Clone(c.Values), Pending: maps.Clone(c.Pending), Deleted: slices.Clone(c.Deleted)}
}

// Get returns a current setting, or "".
func (c *Config) Get(key string) string { return c.Values[key] }

// Has reports whether a setting exists.
func (c *Config) Has(key string) bool {
	_, ok := c.Values[key]
	return ok
}

// Set sets a current setting. White space at the end of a description is removed, as when Proxmox VE reads its file again
// (qemu-server QemuServer.pm, finish_description).
func (c *Config) Set(key, value string) {
	if key == "description" {
		value = strings.TrimRightFunc(value, unicode.IsSpace)
	}

	c.Values[key] = value
}

// Delete removes a current setting.
func (c *Config) Delete(key string) { delete(c.Values, key) }

// Keys returns the names of the current settings, sorted.
func (c *Config) Keys() []string { return slices.Sorted(maps.Keys(c.Values)) }

// Int returns a numeric setting.
func (c *Config) Int(key string, otherwise int) int {
	n, err := strconv.Atoi(c.Values[key])
	if err != nil {
		return otherwise
	}

	return n
}

// Flag returns a setting with the value 0 or 1.
func (c *Config) Flag(key string) bool { return c.Values[key] == "1" }

// Template reports whether the VM is a template.
func (c *Config) Template() bool { return c.Flag("template") }

// Lock returns the operation that holds the configuration's lock, such as "clone", or "".
func (c *Config) Lock() string { return c.Values["lock"] }

// MemoryMiB returns the VM's memory at its next start (qemu-server QemuServer/Memory.pm; 512 by default).
func (c *Config) MemoryMiB() int {
	const least = 512

	text := strings.TrimPrefix(c.Values["memory"], "current=")

	n, err := strconv.Atoi(text)
	if err != nil {
		return least
	}

	return n
}

// CPUs returns the number of virtual processors.
func (c *Config) CPUs() int {
	if n := c.Int("vcpus", 0); n > 0 {
		return n
	}

	return c.Int("sockets", 1) * c.Int("cores", 1)
}

// SetPending records a change for the next start.
func (c *Config) SetPending(key, value string) {
	if c.Pending == nil {
		c.Pending = map[string]string{}
	}

	c.Pending[key] = value
	c.Deleted = slices.DeleteFunc(c.Deleted, func(k string) bool { return k == key })
}

// DeletePending records a removal for the next start.
func (c *Config) DeletePending(key string) {
	delete(c.Pending, key)

	if c.Has(key) && !slices.Contains(c.Deleted, key) {
		c.Deleted = append(c.Deleted, key)
		slices.Sort(c.Deleted)
	}
}

// HasPending reports whether changes are pending.
func (c *Config) HasPending() bool { return len(c.Pending) > 0 || len(c.Deleted) > 0 }

// CleanupPending removes pending changes without an effect.
func (c *Config) CleanupPending() {
	maps.DeleteFunc(c.Pending, func(key, value string) bool {
		current, ok := c.Values[key]
		return ok && current == value
	})
	c.Deleted = slices.DeleteFunc(c.Deleted, func(key string) bool { return !c.Has(key) })
}

// WithPending returns the configuration of the next start.
func (c *Config) WithPending() *Config {
	next := c.Clone()

	for _, key := range next.Deleted {
		next.Delete(key)
	}

	maps.Copy(next.Values, next.Pending)
	next.Pending, next.Deleted = nil, nil

	return next
}

// Digest returns the SHA-1 of the configuration file that Proxmox VE would write.
func (c *Config) Digest() string {
	sum := sha1.Sum([]byte(c.File())) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// File returns the configuration in the format of /etc/pve/qemu-server/ID.conf (qemu-server QemuServer.pm, write_vm_config).
func (c *Config) File() string {
	var text strings.Builder

	for line := range strings.Lines(c.Values["description"]) {
		text.WriteString("#" + url.PathEscape(strings.TrimSuffix(line, "\n")) + "\n")
	}

	writeSection(&text, c.Values)

	if c.HasPending() {
		text.WriteString("\n[PENDING]\n")

		if len(c.Deleted) > 0 {
			fmt.Fprintf(&text, "delete: %s\n", strings.Join(c.Deleted, ","))
		}

		writeSection(&text, c.Pending)
	}

	return text.String()
}

func writeSection(text *strings.Builder, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != "description" {
			fmt.Fprintf(text, "%s: %s\n", key, values[key])
		}
	}
}

// Shown returns the settings in the format of the API: with the digest, and without the password.
func (c *Config) Shown() map[string]string {
	shown := maps.Clone(c.Values)
	shown["digest"] = c.Digest()

	if c.Has("cipassword") {
		shown["cipassword"] = "**********"
	}

	return shown
}
