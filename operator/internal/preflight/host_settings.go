package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// settings checks that hosts and the cluster can be set as the inventory wants it.
func (s *collector) settings(ctx context.Context, subject HostsSubject) {
	for _, run := range subject.Settings {
		changes, err := run.Foresee(ctx)
		s.foreseen("settings of "+run.Wanted.Node, changes, err)
	}
	if len(subject.Options.Wanted) > 0 {
		changes, err := subject.Options.Foresee(ctx)
		s.foreseen("options of the cluster", changes, err)
	}
	for _, run := range subject.Definitions {
		if !s.takesBackups(ctx, subject, run.Wanted) {
			continue
		}
		sentence, err := run.Foresee(ctx)
		if err != nil {
			s.fail("settings", "", "%v", err)
			continue
		}
		s.ok("settings", "%s", sentence)
	}
}

func (s *collector) foreseen(what string, changes []string, err error) {
	switch {
	case err != nil:
		s.fail("settings", "", "%v", err)
	case len(changes) == 0:
		s.ok("settings", "the %s are as the inventory wants them", what)
	default:
		s.ok("settings", "the %s can be changed: %s", what, strings.Join(changes, "; "))
	}
}

// takesBackups reports whether the storage of a backup job takes backups, now or once the inventory is applied: Proxmox VE defines a job without a
// look at its storage, and the job then fails at night (pve-manager, PVE/API2/Backup.pm). Any other definition needs no
// such check.
func (s *collector) takesBackups(ctx context.Context, subject HostsSubject, wanted hostspec.Definition) bool {
	name := wanted.Value("storage")
	if wanted.Kind != hostspec.BackupJob || name == "" {
		return true
	}
	if known := slices.IndexFunc(subject.Storages, func(one pve.StorageRun) bool { return one.Wanted.Name == name }); known >= 0 {
		return true // the loader has checked its content
	}
	kind, content, err := pve.ContentOfStorage(ctx, subject.Host, name)
	switch {
	case err != nil:
		s.unread("settings", "the storage "+name, err)
		return false
	case len(content) == 0:
		s.fail("settings", "name another storage, or add it to storages; if it is there, give the token Datastore.Audit on /storage/"+name, "the %s has the storage %s, which is not there", wanted, name)
	case slices.Contains(content, "backup"):
		return true
	case !slices.Contains([]string{"dir", "nfs", "cifs", "btrfs", "cephfs"}, kind):
		s.fail("settings", "name another storage", "the %s has the storage %s, which takes no backups, as a %s cannot", wanted, name, kind)
	default:
		s.fail("settings", fmt.Sprintf("run `pvesm set %s --content %s` on the host, or name another storage", name, strings.Join(append(content, "backup"), ",")),
			"the %s has the storage %s, which takes no backups", wanted, name)
	}
	return false
}
