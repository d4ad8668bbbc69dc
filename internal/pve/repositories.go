package pve

import (
	"cmp"
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
			URIs, Components []string
			Enabled          Flag
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

// change switches a standard repository on or off, in each file that has it, and adds it if none does. Proxmox VE's own call to add one does not
// enable an entry that is there: it adds a second one (proxmox-apt, repositories/mod.rs, before May 2026). The digest makes Proxmox VE refuse a change if
// a file was changed since it was read.
func (r repositories) change(ctx context.Context, client *proxmox.Client, node string, want hostspec.Repository) error {
	path, isThere := nodePath(node, "apt/repositories"), false
	for _, file := range r.Files {
		for index, one := range file.Repositories {
			if !isStandard(want.Handle, one.URIs, one.Components) {
				continue
			}
			isThere = true
			if bool(one.Enabled) == want.Enabled {
				continue
			}
			enabled := "0"
			if want.Enabled {
				enabled = "1"
			}
			params := map[string]string{"path": file.Path, "index": fmt.Sprint(index), "enabled": enabled, "digest": r.Digest}
			if err := client.Post(ctx, path, params, nil); err != nil {
				return err
			}
			next, err := readRepositories(ctx, client, node)
			if err != nil {
				return err
			}
			return next.change(ctx, client, node, want) // the digest is another one now, and there may be another entry
		}
	}
	if isThere || !want.Enabled {
		return nil
	}
	return client.Put(ctx, path, map[string]string{"handle": want.Handle, "digest": r.Digest}, nil)
}

// isStandard reports whether an entry of a file is the standard repository of a handle (proxmox, proxmox-apt, repositories/standard.rs): by the
// end of its address and by its component. Ceph's handles begin with ceph- and the name of its release.
func isStandard(handle string, uris, components []string) bool {
	product, component := "pve", "pve-"+handle
	if rest, isCeph := strings.CutPrefix(handle, "ceph-"); isCeph {
		release, kind, _ := strings.Cut(rest, "-")
		product, component = "ceph-"+release, cmp.Or(kind, "main")
	}
	matches := func(uri string) bool { return strings.HasSuffix(strings.TrimRight(uri, "/"), "/debian/"+product) }
	isOfBookworm := handle == "test" && slices.Contains(components, "pvetest")
	return slices.ContainsFunc(uris, matches) && (slices.Contains(components, component) || isOfBookworm)
}
