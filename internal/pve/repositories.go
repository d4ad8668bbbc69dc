package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// repositories is where a host gets its packages (pve-manager, PVE/API2/APT.pm, repositories).
type repositories struct {
	Digest   string
	Standard []standardRepository `json:"standard-repos"`
	Files    []struct {
		Path         string
		Repositories []struct {
			Types, URIs, Suites, Components []string
			Enabled                         Flag
		}
	}
}

// standardRepository is a repository that Proxmox VE knows. Status is nil for one that no file has.
type standardRepository struct {
	Handle string
	Status *Flag
}

func readRepositories(ctx context.Context, client *proxmox.Client, node string) (r repositories, err error) {
	return r, client.Get(ctx, nodePath(node, "apt/repositories"), &r)
}

// find returns a standard repository. The error names those that the host has.
func (r repositories) find(handle string) (standardRepository, error) {
	at := slices.IndexFunc(r.Standard, func(s standardRepository) bool { return s.Handle == handle })
	if at >= 0 {
		return r.Standard[at], nil
	}
	var handles []string
	for _, s := range r.Standard {
		handles = append(handles, s.Handle)
	}
	return standardRepository{}, fmt.Errorf("knows no standard repository %s: choose among %s", handle, strings.Join(handles, ", "))
}

func (s standardRepository) isEnabled() bool { return s.Status != nil && bool(*s.Status) }

// setRepository switches a standard repository on or off. Proxmox VE's own call to add one does not enable an entry that is there: it adds a second one
// (proxmox-apt, repositories/mod.rs, before May 2026), so an entry is switched where it is. The digest makes Proxmox VE refuse the change if a file was
// changed since it was read.
func setRepository(ctx context.Context, client *proxmox.Client, node string, want hostspec.Repository) error {
	version, err := Reader{client}.Version(ctx)
	if err != nil {
		return err
	}
	for {
		present, err := readRepositories(ctx, client, node)
		if err != nil {
			return err
		}
		next, isNeeded := present.next(want, suiteOf(version))
		if !isNeeded {
			break
		}
		if err := next.call(client)(ctx, nodePath(node, "apt/repositories"), next.params, nil); err != nil {
			return err
		}
	}
	present, err := readRepositories(ctx, client, node)
	if err != nil {
		return err
	}
	if now, err := present.find(want.Handle); err == nil && now.isEnabled() != want.Enabled {
		return fmt.Errorf("it is still %s, by an entry that is none of the standard one's", hostspec.OnOrOff(now.isEnabled()))
	}
	return nil
}

// repositoryChange is a call: PUT adds a repository, POST switches an entry of a file.
type repositoryChange struct {
	isNew  bool
	params map[string]string
}

func (c repositoryChange) call(client *proxmox.Client) func(context.Context, string, any, any) error {
	if c.isNew {
		return client.Put
	}
	return client.Post
}

// next returns the next call that brings a repository to what is wanted; no call is needed if all its entries are as wanted.
func (r repositories) next(want hostspec.Repository, suite string) (repositoryChange, bool) {
	isThere := false
	for _, file := range r.Files {
		for index, one := range file.Repositories {
			isOne := slices.Contains(one.Types, "deb") && slices.Contains(one.Suites, suite) && isStandard(want.Handle, one.URIs, one.Components)
			switch {
			case isOne && bool(one.Enabled) == want.Enabled:
				isThere = true
			case isOne:
				enabled := "0"
				if want.Enabled {
					enabled = "1"
				}
				return repositoryChange{params: map[string]string{"path": file.Path, "index": fmt.Sprint(index), "enabled": enabled, "digest": r.Digest}}, true
			}
		}
	}
	if isThere || !want.Enabled {
		return repositoryChange{}, false
	}
	return repositoryChange{isNew: true, params: map[string]string{"handle": want.Handle, "digest": r.Digest}}, true
}

// suiteOf returns the Debian suite of a release of Proxmox VE.
func suiteOf(version string) string {
	if strings.HasPrefix(version, "8.") {
		return "bookworm"
	}
	return "trixie"
}

// isStandard reports whether an entry of a file is the standard repository of a handle, by the end of its address and by its component
// (proxmox-apt, repositories/repository.rs, is_referenced_repository). Ceph's handles begin with ceph- and the name of its release; Proxmox VE's own
// repositories have an older address, too.
func isStandard(handle string, uris, components []string) bool {
	ends, component := []string{"/debian/pve", "/debian"}, "pve-"+handle
	if rest, isCeph := strings.CutPrefix(handle, "ceph-"); isCeph {
		release, kind, _ := strings.Cut(rest, "-")
		ends, component = []string{"/debian/ceph-" + release}, kind
	}
	isOf := func(uri string) bool {
		return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(strings.TrimRight(uri, "/"), ".proxmox.com"+end) })
	}
	isOfBookworm := handle == "test" && slices.Contains(components, "pvetest")
	return slices.ContainsFunc(uris, isOf) && (slices.Contains(components, component) || isOfBookworm)
}
