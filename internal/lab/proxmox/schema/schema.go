// Package schema has the API description of the Proxmox VE methods that the lab serves: parameters, permissions and returns,
// for each emulated release. It verifies requests with Proxmox VE's error texts.
package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Set PVE_API_84 and PVE_API_91 to the complete API descriptions, one JSON array of methods each.
//
//go:generate go run ./trim -out . 8.4=$PVE_API_84 9.1=$PVE_API_91

// The embedded files are Proxmox VE's own API description (apidata.js of pve-docs), cut down to the methods served.
//
//go:embed pve-8.4.json pve-9.1.json
var files embed.FS

// The descriptions at hand have no containers. The description of containers is evaluated from pve-container's own registrations, of its
// branch stable-bookworm for 8.4 and of its head for 9.1 (src/PVE/API2/LXC.pm and below, src/PVE/LXC/Config.pm).
//
//go:embed lxc-8.4.json lxc-9.1.json
var containers embed.FS

// The descriptions at hand lack what configures hosts. The description of that is evaluated from pve-manager's own registrations, at 8.4.1
// and at 9.1.1 (PVE/API2/Nodes.pm, APT.pm, Backup.pm, Cluster/MetricServer.pm; PVE/Status/*.pm; pve-guest-common PVE/VZDump/Common.pm).
// Every user may read the options of the cluster (PVE/API2/Cluster.pm, get_options); the descriptions at hand name only what makes all of
// them visible.
//
//go:embed settings-8.4.json settings-9.1.json
var settings embed.FS

// The descriptions at hand have no snapshots. The description of snapshots, and of the question whether a VM can have one, is the same in
// both releases (qemu-server API2/Qemu.pm).
//
//go:embed snapshots.json
var snapshots []byte

// Release is a Proxmox VE release that can be emulated.
type Release string

// The emulated releases.
const (
	Release84 Release = "8.4"
	Release91 Release = "9.1"
)

// Releases returns the emulated releases, oldest first.
func Releases() []Release { return []Release{Release84, Release91} }

// Method is a method of the API in one release.
type Method struct {
	Verb        string               `json:"method"`
	Path        string               `json:"path"`
	Parameters  map[string]*Property `json:"parameters"`
	Permissions Rule                 `json:"permissions"`
	// AllowToken is false for the few methods that require a session with a password.
	AllowToken *Flag     `json:"allowtoken,omitempty"`
	Returns    *Property `json:"returns"`
}

// TokenAllowed reports whether an API token may call the method.
func (m *Method) TokenAllowed() bool { return m.AllowToken == nil || bool(*m.AllowToken) }

// Schema holds the methods of one release.
type Schema struct {
	release Release
	methods map[string]*Method
}

// loaded decodes each description once. A schema is immutable.
var loaded = map[Release]func() (*Schema, error){
	Release84: sync.OnceValues(func() (*Schema, error) { return load(Release84) }),
	Release91: sync.OnceValues(func() (*Schema, error) { return load(Release91) }),
}

// Load returns the embedded description of a release. It is safe for concurrent use.
func Load(release Release) (*Schema, error) {
	read, ok := loaded[release]
	if !ok {
		return nil, fmt.Errorf("proxmox ve %s is not emulated: choose one of %s", release, joined(Releases()))
	}

	return read()
}

func load(release Release) (*Schema, error) {
	raw, err := files.ReadFile("pve-" + string(release) + ".json")
	if err != nil {
		return nil, fmt.Errorf("read the description of proxmox ve %s: %w", release, err)
	}

	lxc, err := containers.ReadFile("lxc-" + string(release) + ".json")
	if err != nil {
		return nil, fmt.Errorf("read the description of proxmox ve %s: %w", release, err)
	}

	configuring, err := settings.ReadFile("settings-" + string(release) + ".json")
	if err != nil {
		return nil, fmt.Errorf("read the description of proxmox ve %s: %w", release, err)
	}

	var methods []*Method

	for _, description := range [][]byte{raw, lxc, configuring, snapshots} {
		var some []*Method
		if err := json.Unmarshal(description, &some); err != nil {
			return nil, fmt.Errorf("read the description of proxmox ve %s: %w", release, err)
		}

		methods = append(methods, some...)
	}

	s := &Schema{release: release, methods: make(map[string]*Method, len(methods))}

	for _, m := range methods {
		if err := m.compile(); err != nil {
			return nil, fmt.Errorf("proxmox ve %s: %s %s: %w", release, m.Verb, m.Path, err)
		}

		s.methods[key(m.Verb, m.Path)] = m
	}

	return s, nil
}

// Release returns the release of the schema.
func (s *Schema) Release() Release { return s.release }

// Method returns the method of a verb and a path template such as "/nodes/{node}/qemu".
func (s *Schema) Method(verb, path string) (*Method, bool) {
	m, ok := s.methods[key(verb, path)]
	return m, ok
}

func key(verb, path string) string { return verb + " " + path }

func joined(releases []Release) string {
	names := make([]string, len(releases))
	for i, r := range releases {
		names[i] = string(r)
	}

	return strings.Join(names, ", ")
}

func (m *Method) compile() error {
	// The cdrom parameter refers to the format of the IDE drives.
	if cdrom, ok := m.Parameters["cdrom"]; ok && cdrom.Format.Name == "pve-qm-ide" && m.Parameters["ide[n]"] != nil {
		cdrom.Format = m.Parameters["ide[n]"].Format
	}

	for name, p := range m.Parameters {
		if err := p.compile(); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}

	if m.Returns == nil {
		return nil
	}

	return m.Returns.compile()
}

// perlGroups matches groups that Go writes differently or does not support: (?^:...) has default flags, (?>...) is atomic,
// which makes no difference for the patterns of the description.
var perlGroups = regexp.MustCompile(`\(\?(?:\^[a-z]*:|>)`)

// longRepeat matches a repeat count at the end of a pattern that is too large for Go's regular expressions.
var longRepeat = regexp.MustCompile(`\{0,(\d{4,})\}$`)

// compilePattern anchors a pattern as PVE::JSONSchema::check_prop does: without a group, so that alternatives are anchored at
// one end only. A large repeat count becomes a length limit; 0 means none.
func compilePattern(pattern string) (re *regexp.Regexp, longest int, err error) {
	if match := longRepeat.FindStringSubmatch(pattern); match != nil {
		if longest, err = strconv.Atoi(match[1]); err != nil {
			return nil, 0, err
		}

		pattern = longRepeat.ReplaceAllString(pattern, "*")
	}

	re, err = regexp.Compile("^" + perlGroups.ReplaceAllString(pattern, "(?:") + "$")

	return re, longest, err
}

// mustCompilePattern compiles the patterns in this package.
func mustCompilePattern(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + pattern + "$")
}
