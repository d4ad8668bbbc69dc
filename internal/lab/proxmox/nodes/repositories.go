package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
)

// shownRepositories is the answer of GET /nodes/{node}/apt/repositories (proxmox-rs, proxmox-apt-api-types/src/lib.rs,
// APTRepositoriesResult).
type shownRepositories struct {
	Files     []shownFile      `json:"files"`
	Errors    []struct{}       `json:"errors"`
	Digest    string           `json:"digest"`
	Infos     []repositoryInfo `json:"infos"`
	Standards []standard       `json:"standard-repos"`
}

type shownFile struct {
	repositoryFile
	Digest [sha256.Size]byte `json:"digest"` // as a list of numbers
}

// repositoryInfo names the origin of a repository.
type repositoryInfo struct {
	Path    string `json:"path"`
	Index   int    `json:"index"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// repositoriesOf returns the files of a host. The caller holds the lock.
func (s *Service) repositoriesOf(node string) []repositoryFile {
	if s.repositories[node] == nil {
		s.repositories[node] = installedRepositories(s.env.Release)
	}

	return s.repositories[node]
}

// listRepositories handles GET /nodes/{node}/apt/repositories (proxmox-apt/src/api.rs, list_repositories).
func (s *Service) listRepositories(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	files := s.repositoriesOf(c.Node)
	digest := commonDigest(files)
	shown := shownRepositories{
		Files: make([]shownFile, len(files)), Errors: []struct{}{}, Digest: hex.EncodeToString(digest[:]), Infos: origins(files),
		Standards: standards(s.env.Release),
	}

	for i, f := range files {
		f.Repositories = slices.Clone(f.Repositories)
		for j := range f.Repositories {
			f.Repositories[j].Options = slices.Clone(f.Repositories[j].Options)
		}

		shown.Files[i] = shownFile{f, f.digest()}
		shown.mark(f, suiteOf(s.env.Release))
	}

	return shown, nil
}

// mark sets the status of the standard repositories that a file has. A repository that is enabled in any file is enabled (proxmox-apt mod.rs,
// standard_repositories).
func (a *shownRepositories) mark(f repositoryFile, suite string) {
	for _, r := range f.Repositories {
		for i, s := range a.Standards {
			if (s.Status == nil || *s.Status == 0) && s.isReferencedBy(r, suite) {
				a.Standards[i].Status = new(r.Enabled)
			}
		}
	}
}

// origins returns which repositories are those of Debian and of Proxmox, by their hosts (proxmox-apt file.rs, check_uris; repository.rs,
// origin_from_uris).
func origins(files []repositoryFile) []repositoryInfo {
	infos := []repositoryInfo{}

	for _, f := range files {
		for i, r := range f.Repositories {
			for _, origin := range []struct{ domain, name string }{{"proxmox.com", "Proxmox"}, {"debian.org", "Debian"}} {
				address, err := url.Parse(r.URIs[0])
				if err == nil && (address.Hostname() == origin.domain || strings.HasSuffix(address.Hostname(), "."+origin.domain)) {
					infos = append(infos, repositoryInfo{f.Path, i, "origin", origin.name})
				}
			}
		}
	}

	return infos
}

// checkDigest refuses a change of files that another caller has changed since the digest was read. It also refuses a text that is not a valid
// digest, with the error of its decoder (proxmox-rs, proxmox-config-digest/src/lib.rs).
func checkDigest(files []repositoryFile, given string) error {
	if given == "" {
		return nil
	}

	if raw, err := hex.DecodeString(given); err != nil || len(raw) != sha256.Size {
		return fmt.Errorf("error: invalid value: string %q, expected valid configuration digest", given)
	}

	if current := commonDigest(files); !strings.EqualFold(given, hex.EncodeToString(current[:])) {
		return api.ErrModified
	}

	return nil
}

// addRepository handles PUT /nodes/{node}/apt/repositories (proxmox-apt/src/api.rs, add_repository_handle). It enables a repository of Ceph
// that is there already. It looks for repositories of Proxmox VE by the names of Proxmox Backup Server, so it never finds them and adds them
// once more. Both emulated releases do so (corrected in proxmox-rs by commit 8f199882 of May 2026).
func (s *Service) addRepository(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	added, err := findStandard(s.env.Release, c.Params.Get("handle"))
	if err != nil {
		return nil, err
	}

	files := s.repositoriesOf(c.Node)
	if err := checkDigest(files, c.Params.Get("digest")); err != nil {
		return nil, err
	}

	if known := findRepository(files, added, suiteOf(s.env.Release)); known != nil {
		if known.Enabled == 0 {
			known.enable(true)
			s.env.Changed()
		}

		return nil, nil
	}

	entry := added.repository(s.env.Release)

	if at := indexOf(files, added.path); at >= 0 {
		files[at].Repositories = append(files[at].Repositories, entry)
	} else {
		files = append(files, repositoryFile{added.path, fileType(s.env.Release), []repository{entry}})
		slices.SortFunc(files, func(a, b repositoryFile) int { return strings.Compare(a.Path, b.Path) })
	}

	s.repositories[c.Node] = files
	s.env.Changed()

	return nil, nil
}

// findRepository returns the repository that is the standard one, as addRepository looks for it; nil without one.
func findRepository(files []repositoryFile, wanted standard, suite string) *repository {
	if wanted.ofProduct {
		return nil
	}

	for _, f := range files {
		for i := range f.Repositories {
			if wanted.isReferencedBy(f.Repositories[i], suite) {
				return &f.Repositories[i]
			}
		}
	}

	return nil
}

func indexOf(files []repositoryFile, path string) int {
	return slices.IndexFunc(files, func(f repositoryFile) bool { return f.Path == path })
}

// changeRepository handles POST /nodes/{node}/apt/repositories (proxmox-apt/src/api.rs, change_repository).
func (s *Service) changeRepository(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	path, index := c.Params.Get("path"), c.Params.Int("index", 0)
	if index < 0 {
		return nil, fmt.Errorf("error: invalid value: integer `%d`, expected usize", index)
	}

	files := s.repositoriesOf(c.Node)
	if err := checkDigest(files, c.Params.Get("digest")); err != nil {
		return nil, err
	}

	at := indexOf(files, path)
	if at < 0 {
		return nil, fmt.Errorf("invalid path - %s", path)
	}

	if index >= len(files[at].Repositories) {
		return nil, fmt.Errorf("invalid index - %d", index)
	}

	if c.Params.Has("enabled") {
		files[at].Repositories[index].enable(c.Params.Bool("enabled", false))
		s.env.Changed()
	}

	return nil, nil
}
