package pve

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// StorageRun makes, changes and removes the definition of a storage. It never touches what is on the storage.
type StorageRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted is the storage.
	Wanted hostspec.Storage
	// Password of the user of its server; empty for none. Proxmox VE does not read it back, so every Apply sets it.
	Password string
	// Made is whether this stack has made the definition. Only such a one is removed.
	Made bool
}

// StoragePasswordVariable passes [StorageRun.Password] to the Commands that the engine runs.
const StoragePasswordVariable = "EM_INFRA_HOST_STORAGE_PASSWORD"

// Apply makes the storage, or changes the one that is there to what is wanted. It refuses, with nothing changed, if Proxmox VE would have to define
// it anew.
func (r StorageRun) Apply(ctx context.Context) (Outcome, error) { return applyDefinition(ctx, r) }

// Foresee returns a sentence about what Apply would do, and the refusal that it would begin with. It changes nothing.
func (r StorageRun) Foresee(ctx context.Context) (string, error) { return foreseeDefinition(ctx, r) }

// Differences returns what differs from the wanted storage, a sentence each.
func (r StorageRun) Differences(ctx context.Context) ([]string, error) {
	return definitionDifferences(ctx, r)
}

// Release removes the definition if this stack has made it, unless machines have something on the storage.
func (r StorageRun) Release(ctx context.Context) (Outcome, error) { return releaseDefinition(ctx, r) }

// String returns the storage in a message.
func (r StorageRun) String() string { return "storage " + r.Wanted.Name }

func (r StorageRun) settings() (fixed, changeable []hostspec.Setting) {
	return r.Wanted.Fixed(), r.Wanted.Changeable()
}

func (r StorageRun) isMade() bool { return r.Made }

func (r StorageRun) hasSecret() bool { return r.Password != "" }

func (r StorageRun) separator() string { return ", " }

// checkForeseen implements [definitionRun]: a storage is defined and changed with one privilege (pve-storage, PVE/API2/Storage/Config.pm).
func (r StorageRun) checkForeseen(ctx context.Context, client *proxmox.Client, _ definition) error {
	mine, err := Reader{client}.Privileges(ctx, "/storage")
	if err == nil && !slices.Contains(mine, "Datastore.Allocate") {
		err = r.notAllowed()
	}
	return err
}

func (r StorageRun) notAllowed() error {
	return fmt.Errorf("the token may not define the storage %s: give it the privilege Datastore.Allocate on /storage, then run again", r.Wanted.Name)
}

func (r StorageRun) path() string { return "/storage/" + url.PathEscape(r.Wanted.Name) }

// look returns the present definition; nil if there is none that the token may see.
func (r StorageRun) look(ctx context.Context) (*proxmox.Client, definition, error) {
	client, err := r.Connection.Client()
	if err != nil {
		return nil, nil, err
	}
	var all []definition
	if err := client.Get(ctx, "/storage", &all); err != nil {
		return nil, nil, r.Connection.explain(err)
	}
	at := slices.IndexFunc(all, func(one definition) bool { return one["storage"] == r.Wanted.Name })
	if at < 0 {
		return client, nil, nil
	}
	return client, all[at], nil
}

// ContentOfStorage returns the type and the content types of a storage; none if there is no such storage that the token may see.
func ContentOfStorage(ctx context.Context, host Connection, name string) (kind string, content []string, err error) {
	_, present, err := StorageRun{Connection: host, Wanted: hostspec.Storage{Name: name}}.look(ctx)
	if err != nil || present == nil {
		return "", nil, err
	}
	return present["type"], strings.Split(present["content"], ","), nil
}

func (r StorageRun) refuseFixed(differences []string) error {
	return fmt.Errorf("the storage %[1]s is there with other settings (%[2]s), which Proxmox VE never changes: correct %[1]s in storages, or choose another name for it",
		r.Wanted.Name, strings.Join(differences, ", "))
}

func (r StorageRun) params(settings []hostspec.Setting) map[string]string {
	params := paramsOf(settings)
	if r.Password != "" {
		params["password"] = r.Password
	}
	return params
}

func (r StorageRun) create(ctx context.Context, client *proxmox.Client) error {
	params := r.params(slices.Concat(r.settings()))
	params["storage"] = r.Wanted.Name
	err := client.Post(ctx, "/storage", params, nil)
	switch {
	case err == nil:
		return nil
	case proxmox.IsNotAuthorized(err):
		return r.notAllowed()
	case strings.Contains(err.Error(), "already defined"):
		return fmt.Errorf("the storage %[1]s is there, and the token may not see it: give it the privilege Datastore.Audit on /storage/%[1]s", r.Wanted.Name)
	default:
		return fmt.Errorf("the storage %[1]s cannot be activated, and was not made (%[2]w): %[3]s, then run up again", r.Wanted.Name, withoutURL(err), r.remedy())
	}
}

// remedy is what to do about a storage that cannot be activated, by its type.
func (r StorageRun) remedy() string {
	w := r.Wanted
	switch w.Type {
	case "nfs":
		return fmt.Sprintf("see with `pvesm scan nfs %s` on the host that the server answers and exports %s to it", w.Server, w.Export)
	case "cifs":
		return fmt.Sprintf("see that %s answers on the host, that it shares %s, and that storages.%s.password is right", w.Server, w.Share, w.Name)
	case "pbs":
		return fmt.Sprintf("see that %s answers on the host, that %s may use its datastore %s, that storages.%s.password is right, and that fingerprint is that of its certificate", w.Server, w.Username, w.Datastore, w.Name)
	case "lvmthin":
		return fmt.Sprintf("see with `lvs %s/%s` that the host has the thin pool", w.VolumeGroup, w.ThinPool)
	case "zfspool":
		return fmt.Sprintf("see with `zfs list %s` that the host has the pool", w.ZFSPool)
	default:
		return fmt.Sprintf("see that the host has the folder %s", w.Path)
	}
}

func (r StorageRun) change(ctx context.Context, client *proxmox.Client) error {
	err := client.Put(ctx, r.path(), r.params(r.Wanted.Changeable()), nil)
	switch {
	case err == nil:
		return nil
	case proxmox.IsNotAuthorized(err):
		return r.notAllowed()
	default:
		return fmt.Errorf("the storage %s cannot be changed, and is as it was (%w): mend that, then run up again", r.Wanted.Name, withoutURL(err))
	}
}

// checkRemoval refuses to remove the definition of a storage that machines have something on.
func (r StorageRun) checkRemoval(ctx context.Context) error {
	users, err := r.users(ctx)
	if err == nil && len(users) > 0 {
		err = fmt.Errorf("the storage %s is in use by %s, and its definition stays: move their disks to another storage, and take its ISO images out of their drives, then run again",
			r.Wanted.Name, strings.Join(users, ", "))
	}
	return err
}

func (r StorageRun) remove(ctx context.Context, client *proxmox.Client) error {
	if err := r.checkRemoval(ctx); err != nil {
		return err
	}
	if err := client.Delete(ctx, r.path(), nil); err != nil {
		return fmt.Errorf("the definition of the storage %[1]s cannot be removed (%[2]w): remove it with `pvesm remove %[1]s`, which keeps its data, then run again", r.Wanted.Name, withoutURL(err))
	}
	return nil
}

// users returns the machines whose configuration names something on the storage. Proxmox VE itself would remove the definition although they use it.
func (r StorageRun) users(ctx context.Context) ([]string, error) {
	reader, err := NewReader(r.Connection)
	if err != nil {
		return nil, err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, fmt.Errorf("what uses the storage %s cannot be read (%w): give the token VM.Audit on /vms, then run again", r.Wanted.Name, err)
	}
	var users []string
	for _, guest := range guests {
		config, err := reader.GuestConfig(ctx, guest)
		if err != nil {
			return nil, fmt.Errorf("what uses the storage %s cannot be read (VM %d: %w): give the token VM.Audit on /vms, then run again", r.Wanted.Name, guest.VMID, err)
		}
		if config.hasVolumeOn(r.Wanted.Name) {
			users = append(users, fmt.Sprintf("VM %d (%s)", guest.VMID, guest.Name))
		}
	}
	return users, nil
}

// hasVolumeOn reports whether a disk or a drive of the guest names a volume of a storage.
func (c GuestConfig) hasVolumeOn(storage string) bool {
	for _, value := range c {
		for _, part := range strings.Split(value, ",") {
			if strings.HasPrefix(strings.TrimPrefix(part, "file="), storage+":") {
				return true
			}
		}
	}
	return false
}
