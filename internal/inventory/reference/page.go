package reference

import (
	"bytes"
	"embed"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

//go:embed *.md.tmpl
var layouts embed.FS

// page is a page about the inventory of one kind of stack.
type page struct {
	// path of the page, and the name of its layout.
	path, layout string
	// example is a fixture of the loader's tests, which the page shows.
	example string
	kind    manifest.Kind
}

var pages = []page{
	{"docs/inventory.md", "page.md.tmpl", inventorySource + "/testdata/valid-example", manifest.Platform},
	{"docs/inventory-hosts.md", "hosts.md.tmpl", inventorySource + "/hosts/testdata/valid-example", manifest.Hosts},
	{"docs/inventory-systems.md", "systems.md.tmpl", inventorySource + "/systems/testdata/valid-example", manifest.Systems},
}

// filledFile is what a page says about one file.
type filledFile struct {
	Example  string
	Sections []section
}

// section is one mapping with fixed keys.
type section struct {
	Path, About string
	Keys        []row
}

// row is one key.
type row struct{ Key, Value, Default, About string }

// text fills the layout of the page, by the names of the files without .yaml.
func (p page) text() ([]byte, error) {
	comments, err := readComments()
	if err != nil {
		return nil, err
	}
	filled := map[string]filledFile{}
	for _, file := range inventoryFiles {
		if !slices.Contains(p.kind.Files(), file.name) {
			continue
		}
		example, err := os.ReadFile(filepath.Join(p.example, file.name))
		if err != nil {
			return nil, fmt.Errorf("read example: %w", err)
		}
		keys, err := keysOf(file.content, comments)
		if err != nil {
			return nil, err
		}
		filled[strings.TrimSuffix(file.name, ".yaml")] = filledFile{string(example), sectionsOf("", comments.of(file.content, ""), keys, comments)}
	}
	layout, err := template.ParseFS(layouts, p.layout)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = layout.Execute(&text, filled)
	return text.Bytes(), err
}

// sectionsOf returns a mapping followed by the mappings in it. A mapping that occurs several times is described at the first
// place.
func sectionsOf(path, about string, keys []key, comments comments) []section {
	s := section{Path: path, About: about}
	var inner []section
	described := map[reflect.Type]bool{}
	for _, k := range keys {
		s.Keys = append(s.Keys, row{Key: k.Key, Value: k.valueWords(), Default: k.defaultWords(), About: cell(k.about)})
		if len(k.inner) == 0 || described[k.shape.item] {
			continue
		}
		described[k.shape.item] = true
		below := strings.TrimPrefix(path+"."+k.Key, ".")
		if k.shape.list {
			below += "[]"
		}
		inner = append(inner, sectionsOf(below, comments.of(k.shape.item, ""), k.inner, comments)...)
	}
	return append([]section{s}, inner...)
}

// cell returns text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// defaultWords describe the default of the key.
func (k key) defaultWords() string {
	if k.Required {
		return "**required**"
	}
	return cell(k.fallback)
}

// valueWords describe the type of the value.
func (k key) valueWords() string {
	words := k.itemWords()
	bounds := boundWords(k.Min, k.Max)
	switch {
	case k.shape.list && bounds != "":
		return "list of " + words + ", " + bounds
	case k.shape.list:
		return "list of " + words
	case k.shape.table:
		return "mapping to " + words
	case bounds != "":
		return words + ", " + bounds
	}
	return words
}

func boundWords(least, most *int) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%d to %d", *least, *most)
	case least != nil:
		return fmt.Sprintf("%d or more", *least)
	case most != nil:
		return fmt.Sprintf("up to %d", *most)
	}
	return ""
}

func (k key) itemWords() string {
	if k.shape.mapping() {
		return "mapping"
	}
	value := reflect.New(k.shape.item).Interface()
	if words, ok := value.(interface{ Choices() []string }); ok {
		return "`" + strings.Join(words.Choices(), "`, `") + "`"
	}
	switch value.(type) {
	case *netip.Addr:
		return "IP address"
	case *netip.Prefix:
		return "address/length"
	case *inventory.Version, *inventory.KubernetesVersion:
		return "version"
	case *inventory.Contract:
		return "major.minor"
	case *inventory.Nameserver:
		return "IP address or `STACK/SYSTEM`"
	case *inventory.MAC:
		return "MAC address"
	case *systems.Address:
		return "address/length, or `dhcp`"
	case *systems.URL:
		return "URL of a file"
	case *systems.Checksum:
		return "`sha256:HEX` or `sha512:HEX`"
	case *inventory.BDF:
		return "PCI address"
	case *inventory.PCIID:
		return "PCI ID"
	case *inventory.Taint:
		return "`value:Effect`"
	case *inventory.Patch:
		return "patch"
	case *inventory.ChartVersion:
		return "version of a chart"
	case *inventory.Interval:
		return "interval"
	case *inventory.Schedule:
		return "schedule"
	case *inventory.Recipient:
		return "age key"
	case *inventory.BucketURL:
		return "URL of a bucket"
	case *inventory.MaxUnavailable:
		return "number, or percentage like `25%`"
	case *inventory.Values:
		return "values of a chart"
	}
	switch k.shape.item.Kind() {
	case reflect.Int:
		return "number"
	case reflect.Bool:
		return "`true`, `false`"
	default:
		return "text"
	}
}
