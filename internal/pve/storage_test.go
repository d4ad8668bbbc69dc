package pve_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

func nfs() hostspec.Storage {
	return hostspec.Storage{Name: "nas", Type: "nfs", Server: "192.168.20.5", Export: "/mnt/tank", Content: []string{"iso", "images"}, Options: "vers=4.2"}
}

func (e *emulated) storageRun(wanted hostspec.Storage) pve.StorageRun {
	return pve.StorageRun{Connection: e.connection, Wanted: wanted}
}

// writesToStorages returns the calls so far that may have changed a storage.
func (e *emulated) writesToStorages() (writes []string) {
	for _, call := range e.server.Calls() {
		if call.Write() && (call.Endpoint == "/storage" || call.Endpoint == "/storage/{storage}") {
			writes = append(writes, call.Verb)
		}
	}
	return writes
}

// TestAStorageFromItsBeginningToItsEnd: it is created, found unchanged, changed by hand, corrected, and its definition is removed.
func TestAStorageFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := e.storageRun(nfs())
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "storage nas is made", foreseen)
	outcome, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeMade, outcome)
	run.Made = true

	outcome, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeMade, outcome)
	require.Equal(t, []string{http.MethodPost}, e.writesToStorages(), "nothing to do: nothing is called")

	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Put(t.Context(), "/storage/nas", map[string]string{"content": "iso", "nodes": node}, nil))
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"content: iso instead of images,iso"}, differences, "what the inventory leaves out stays as it is")
	foreseen, err = run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "storage nas is changed: content: iso instead of images,iso", foreseen)
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	differences, err = run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)

	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"105"}, "name": {"web"}, "scsi0": {"file=nas:1,format=raw"}})
	_, err = run.Release(t.Context())
	require.EqualError(t, err, "the storage nas is in use by VM 105 (web), and its definition stays: move their disks to another storage, and take its ISO images out of their drives, then run again")
	e.must(http.MethodDelete, "/qemu/105", nil)
	outcome, err = run.Release(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeRemoved, outcome)
	outcome, err = run.Release(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeGone, outcome)
	differences, err = run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"absent"}, differences)
}

// TestAStorageThatIsThereIsAdopted: it is changed in place, refused where Proxmox VE cannot change it, and stays at a destroy.
func TestAStorageThatIsThereIsAdopted(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := e.storageRun(hostspec.Storage{Name: "tank", Type: "zfspool", ZFSPool: "rpool/tank", Content: []string{"images", "rootdir"}})
	outcome, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeAdopted, outcome)
	require.Equal(t, []string{http.MethodPut}, e.writesToStorages())
	outcome, err = run.Release(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeKept, outcome)
	require.Len(t, e.writesToStorages(), 1)

	run.Wanted.Type, run.Wanted.ZFSPool, run.Wanted.Path = "dir", "", "/mnt/tank"
	const refusal = "the storage tank is there with other settings (type: zfspool instead of dir, path: none instead of /mnt/tank), which Proxmox VE never changes: correct tank in storages, or choose another name for it"
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, refusal)
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, refusal)
	require.Len(t, e.writesToStorages(), 1)
}

// TestAPasswordReachesTheHost: the backup server refuses a login without it, and no later call reads it.
func TestAPasswordReachesTheHost(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := e.storageRun(hostspec.Storage{Name: "backups", Type: "pbs", Server: "192.168.20.6", Datastore: "main", Username: "backup@pbs", Content: []string{"backup"}})
	_, err := run.Apply(t.Context())
	require.EqualError(t, err, "the storage backups cannot be activated, and was not made (500 create storage failed: backups: error fetching datastores - 401 Unauthorized): see that 192.168.20.6 answers on the host, that backup@pbs may use its datastore main, that storages.backups.password is right, and that fingerprint is that of its certificate, then run up again")
	run.Password = "made up for a test"
	outcome, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeMade, outcome)
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{http.MethodPost, http.MethodPost, http.MethodPut}, e.writesToStorages(), "a password that is not read back is set again")
}

func TestAStorageThatCannotBeActivated(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	e := newHost(t, func(c *proxmox.Config) { c.Faults = proxmox.NewFaultSet(c.Pace, faults) })
	require.NoError(t, faults.Set(fault.Fault{Name: "storage-inactive", Times: 1}))
	run := e.storageRun(nfs())
	_, err := run.Apply(t.Context())
	require.EqualError(t, err, "the storage nas cannot be activated, and was not made (500 create storage failed: mount error: mount.nfs: Connection timed out): see with `pvesm scan nfs 192.168.20.5` on the host that the server answers and exports /mnt/tank to it, then run up again")
	outcome, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeMade, outcome)
}

// TestATokenThatMayDefineNoStorage checks that the missing privilege is reported before anything is changed, and also if only the call shows it.
func TestATokenThatMayDefineNoStorage(t *testing.T) {
	t.Parallel()
	const refusal = "the token may not define the storage nas: give it the privilege Datastore.Allocate on /storage, then run again"
	weak := newHostFor(t, "Datastore.Audit")
	_, err := weak.storageRun(nfs()).Foresee(t.Context())
	require.EqualError(t, err, refusal)
	_, err = weak.storageRun(nfs()).Apply(t.Context())
	require.EqualError(t, err, refusal)

	present := hostspec.Storage{Name: "tank", Type: "zfspool", ZFSPool: "rpool/tank", Content: []string{"images", "rootdir"}}
	_, err = weak.storageRun(present).Foresee(t.Context())
	require.EqualError(t, err, strings.Replace(refusal, "nas", "tank", 1))
	_, err = weak.storageRun(present).Apply(t.Context())
	require.EqualError(t, err, strings.Replace(refusal, "nas", "tank", 1))
}

// TestAStorageThatIsMadeAnew: Proxmox VE never changes the server of a storage, so the Command is replaced, and Foresee does not report the storage
// as wanted before.
func TestAStorageThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := e.storageRun(nfs())
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	run.Made, run.Wanted.Server = true, "192.168.20.6"
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "storage nas is made anew", foreseen)

	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"105"}, "name": {"web"}, "scsi0": {"nas:1"}})
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, "the storage nas is in use by VM 105 (web), and its definition stays: move their disks to another storage, and take its ISO images out of their drives, then run again")
}
