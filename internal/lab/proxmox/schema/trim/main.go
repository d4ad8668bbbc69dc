// Command trim reduces Proxmox VE's API description to the methods that the lab serves, and writes the files that package
// schema embeds.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

func main() {
	out := flag.String("out", ".", "folder that receives pve-RELEASE.json")
	flag.Parse()

	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "trim:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("name the complete descriptions, as in: trim -out . 8.4=FILE 9.1=FILE")

func run(out string, sources []string) error {
	if len(sources) == 0 {
		return errUsage
	}

	for _, source := range sources {
		release, file, found := strings.Cut(source, "=")
		if !found || file == "" {
			return errUsage
		}

		if err := trim(file, filepath.Join(out, "pve-"+release+".json")); err != nil {
			return err
		}
	}

	return nil
}

// method has the used fields of a method, in this order.
type method struct {
	Verb        string          `json:"method"`
	Path        string          `json:"path"`
	Permissions json.RawMessage `json:"permissions,omitempty"`
	AllowToken  json.RawMessage `json:"allowtoken,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Returns     json.RawMessage `json:"returns"`
}

func trim(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("read the complete description: %w", err)
	}

	var all []method
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("parse %s: %w", from, err)
	}

	served := proxmox.Endpoints()
	kept := slices.DeleteFunc(all, func(m method) bool {
		return !slices.Contains(served, proxmox.Endpoint{Verb: m.Verb, Path: m.Path})
	})

	slices.SortFunc(kept, func(a, b method) int {
		return strings.Compare(a.Path+" "+a.Verb, b.Path+" "+b.Verb)
	})

	return write(kept, to)
}

// write writes one method per line, so that diffs are readable.
func write(kept []method, to string) error {
	var text bytes.Buffer

	text.WriteString("[\n")

	for i, m := range kept {
		line, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", m.Verb, m.Path, err)
		}

		text.Write(line)

		if i < len(kept)-1 {
			text.WriteByte(',')
		}

		text.WriteByte('\n')
	}

	text.WriteString("]\n")

	return os.WriteFile(to, text.Bytes(), 0o644)
}
