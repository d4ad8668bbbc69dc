package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// APIVersion is the format of all files.
const APIVersion = "em-infra/v1alpha1"

// Header names the format of a file.
type Header struct {
	// APIVersion of the format: em-infra/v1alpha1. Required.
	APIVersion string `yaml:"apiVersion" required:"true"`
	// Kind of the file: Cluster in cluster.yaml, Nodes in nodes.yaml, Hosts in hosts.yaml, Systems in
	// systems.yaml. Required.
	Kind string `yaml:"kind" required:"true"`
}

// File is one file of an inventory. A missing file has only a name.
type File struct {
	// Name is its path.
	Name string
	// Missing reports whether there is no such file.
	Missing bool
	// Data is its content.
	Data []byte
}

// ReadFile reads a file, but at most one byte more than is accepted.
func ReadFile(name string) (File, error) {
	opened, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{Name: name, Missing: true}, nil
	case err != nil:
		return File{}, fmt.Errorf("read inventory: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(opened, strictyaml.MaxBytes+1))
	if err := errors.Join(err, opened.Close()); err != nil {
		return File{}, fmt.Errorf("read inventory: %w", err)
	}
	return File{Name: name, Data: data}, nil
}

// Checker collects the problems of the files of an inventory.
type Checker struct{ problems Problems }

// Decode reads one file, whose header names the kind, into a struct. A file with a wrong header gets only that problem: all others would follow from
// it. If no document is returned, nothing was read.
func (c *Checker) Decode(f File, kind string, into any) (*strictyaml.Document, error) {
	if f.Missing {
		c.Add(f.Name, finding("no such file", "", "", "create it, or name the folder that holds the inventory"))
		return nil, nil
	}
	document, found := strictyaml.Parse(f.Data)
	if found == nil {
		found = headerFinding(document, kind)
	}
	if found != nil {
		c.Add(f.Name, *found)
		return nil, nil
	}
	findings, err := document.Decode(into)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", f.Name, err)
	}
	for _, each := range findings {
		c.Add(f.Name, each)
	}
	return document, nil
}

// At records a problem of a value of a file.
func (c *Checker) At(file string, source *strictyaml.Document, at *strictyaml.Path, problem strictyaml.Fault) {
	found := strictyaml.Finding{Path: at.String(), Fault: problem}
	found.Line, found.Column = source.Position(at)
	c.Add(file, found)
}

// Add records a problem of a file.
func (c *Checker) Add(file string, found strictyaml.Finding) { c.problems.add(file, found) }

// Err returns the problems, sorted, as a [Problems]; nil if there are none.
func (c *Checker) Err() error { return c.problems.OrNil() }

// headerFinding returns the problem of the header of a file; Decode reports missing keys.
func headerFinding(document *strictyaml.Document, kind string) *strictyaml.Finding {
	for _, line := range []struct{ key, want string }{{"apiVersion", APIVersion}, {"kind", kind}} {
		got, given := document.Text(line.key)
		if !given || got == line.want {
			continue
		}
		found := finding("is not what this file holds", "it is "+line.want, got, "write "+line.key+": "+line.want)
		var root *strictyaml.Path
		found.Path = line.key
		found.Line, found.Column = document.Position(root.Key(line.key))
		return &found
	}
	return nil
}
