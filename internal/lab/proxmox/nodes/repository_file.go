package nodes

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// repository is an entry of a file of APT's sources, in the API and in the state (proxmox-rs, proxmox-apt-api-types/src/lib.rs,
// APTRepository).
type repository struct {
	Types      []string           `json:"Types"`
	URIs       []string           `json:"URIs"`
	Suites     []string           `json:"Suites"`
	Components []string           `json:"Components,omitempty"`
	Options    []repositoryOption `json:"Options,omitempty"`
	Comment    string             `json:"Comment,omitempty"`
	FileType   string             `json:"FileType"`
	Enabled    int                `json:"Enabled"`
}

type repositoryOption struct {
	Key    string   `json:"Key"`
	Values []string `json:"Values"`
}

// repositoryFile is a file below /etc/apt.
type repositoryFile struct {
	Path         string       `json:"path"`
	FileType     string       `json:"file-type"`
	Repositories []repository `json:"repositories"`
}

// The formats of the files: one line for each repository, and a stanza for each.
const (
	listType    = "list"
	sourcesType = "sources"
)

func fileType(release schema.Release) string {
	if release == schema.Release84 {
		return listType
	}

	return sourcesType
}

// suiteOf returns the Debian release below a release of Proxmox VE.
func suiteOf(release schema.Release) string {
	if release == schema.Release84 {
		return "bookworm"
	}

	return "trixie"
}

// installedRepositories returns the files that an installation leaves, sorted by path: Debian's, and the two of Proxmox that need a
// subscription. The one of Proxmox VE is in its package (pve-manager configs/pve-sources.list and pve-sources.sources). Those of Debian and
// of Ceph are in the image of the installer; here they are as users have posted them.
func installedRepositories(release schema.Release) []repositoryFile {
	ceph := "ceph-squid-enterprise"
	if release == schema.Release84 {
		ceph = "ceph-quincy-enterprise"
	}

	files := debianRepositories(release)

	for _, s := range standards(release) {
		if s.Handle == ceph || s.Handle == "enterprise" {
			files = append(files, repositoryFile{s.path, fileType(release), []repository{s.repository(release)}})
		}
	}

	slices.SortFunc(files, func(a, b repositoryFile) int { return strings.Compare(a.Path, b.Path) })

	return files
}

// debianRepositories returns the file of Debian's own repositories.
func debianRepositories(release schema.Release) []repositoryFile {
	entry := func(uri, suite, comment string) repository {
		return repository{
			Types: []string{"deb"}, URIs: []string{uri}, Suites: strings.Fields(suite), Components: []string{"main", "contrib"},
			Comment: comment, FileType: fileType(release), Enabled: 1,
		}
	}

	if release == schema.Release84 {
		return []repositoryFile{{sourcesList, listType, []repository{
			entry("http://ftp.us.debian.org/debian", "bookworm", ""),
			entry("http://ftp.us.debian.org/debian", "bookworm-updates", ""),
			entry("http://security.debian.org", "bookworm-security", " security updates\n"),
		}}}
	}

	all := []repository{
		entry("http://deb.debian.org/debian/", "trixie trixie-updates", ""),
		entry("http://security.debian.org/debian-security/", "trixie-security", ""),
	}
	for i := range all {
		all[i].Components = append(all[i].Components, "non-free-firmware")
		all[i].Options = []repositoryOption{{"Signed-By", []string{"/usr/share/keyrings/debian-archive-keyring.gpg"}}}
	}

	return []repositoryFile{{sourcesFolder + "debian.sources", sourcesType, all}}
}

// enable changes the flag of a repository. A stanza has it as a setting, too (proxmox-apt repository.rs, set_enabled).
func (r *repository) enable(on bool) {
	r.Enabled = api.Flag(on)
	if r.FileType != sourcesType {
		return
	}

	setting := repositoryOption{"Enabled", []string{fmt.Sprint(on)}}

	at := slices.IndexFunc(r.Options, func(o repositoryOption) bool { return o.Key == setting.Key })
	if at < 0 {
		r.Options = append(r.Options, setting)
		return
	}

	r.Options[at] = setting
}

// text returns the content of the file (proxmox-apt repository.rs, write_one_line and write_stanza).
func (f repositoryFile) text() string {
	entries := make([]string, len(f.Repositories))

	for i, r := range f.Repositories {
		for line := range strings.Lines(r.Comment) {
			entries[i] += "#" + line
		}

		if f.FileType == listType {
			entries[i] += r.line()
		} else {
			entries[i] += r.stanza()
		}
	}

	return strings.Join(entries, "\n")
}

func (r repository) line() string {
	text := r.Types[0] + " "
	if r.Enabled == 0 {
		text = "# " + text
	}

	return text + r.URIs[0] + " " + r.Suites[0] + " " + strings.Join(r.Components, " ") + "\n"
}

func (r repository) stanza() string {
	var text strings.Builder

	for _, setting := range append([]repositoryOption{
		{"Types", r.Types}, {"URIs", r.URIs}, {"Suites", r.Suites}, {"Components", r.Components},
	}, r.Options...) {
		fmt.Fprintf(&text, "%s: %s\n", setting.Key, strings.Join(setting.Values, " "))
	}

	return text.String()
}

func (f repositoryFile) digest() [sha256.Size]byte { return sha256.Sum256([]byte(f.text())) }

// commonDigest is that of all files together (proxmox-apt mod.rs, common_digest).
func commonDigest(files []repositoryFile) [sha256.Size]byte {
	var all []byte

	for _, f := range files {
		digest := f.digest()
		all = append(all, digest[:]...)
	}

	return sha256.Sum256(all)
}
