package truenas_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/truenas"
)

func property(t *testing.T, dataset any, name string) map[string]any {
	t.Helper()
	found, is := dataset.(map[string]any)[name].(map[string]any)
	require.True(t, is, name)
	return found
}

// TestPropertiesHaveSources checks values that are set, inherited and of ZFS itself.
func TestPropertiesHaveSources(t *testing.T) {
	t.Parallel()
	l := serve(t).login(t)
	l.must("pool.dataset.create", map[string]any{"name": "tank/k8s", "quota": 10 << 30, "compression": "ZSTD", "share_type": "NFS"})
	made := l.must("pool.dataset.create", map[string]any{"name": "tank/k8s/pvc", "recordsize": "1M"})
	require.Equal(t, map[string]any{"parsed": "zstd", "rawvalue": "zstd", "value": "ZSTD", "source": "INHERITED", "source_info": "tank/k8s"}, property(t, made, "compression"))
	require.Equal(t, map[string]any{"parsed": float64(1 << 20), "rawvalue": "1048576", "value": "1M", "source": "LOCAL", "source_info": nil}, property(t, made, "recordsize"))
	require.Equal(t, map[string]any{"parsed": nil, "rawvalue": "0", "value": nil, "source": "DEFAULT", "source_info": nil}, property(t, made, "quota"))
	require.Equal(t, "INHERITED", property(t, made, "acltype")["source"])
	require.Less(t, property(t, made, "available")["parsed"], float64(10<<30), "the quota above it counts")

	back := l.must("pool.dataset.update", "tank/k8s", map[string]any{"compression": "INHERIT", "quota": nil})
	require.Equal(t, []any{"lz4", "INHERITED"}, []any{property(t, back, "compression")["rawvalue"], property(t, back, "compression")["source"]})
	require.Equal(t, []any{"0", "LOCAL"}, []any{property(t, back, "quota")["rawvalue"], property(t, back, "quota")["source"]})
}

func TestDatasetsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.login(t)
	l.must("pool.dataset.create", map[string]any{"name": "tank/k8s"})
	for _, test := range []struct {
		method string
		params []any
		text   string
	}{
		{"pool.dataset.create", []any{map[string]any{}}, `-32602 [["data.PoolDatasetCreateFilesystem.name","Field required",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "tank/a", "quota": 5}}, `-32602 [["data.PoolDatasetCreateFilesystem.quota","Input should be greater than or equal to 1073741824",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "tank/a", "quotas": 5, "atime": true}}, `-32602 [["data.PoolDatasetCreateFilesystem.atime","Input should be 'ON', 'OFF' or 'INHERIT'",22],["data.PoolDatasetCreateFilesystem.quotas","Extra inputs are not permitted",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "k8s"}}, `-32602 [["pool_dataset_create.name","You need a full name, e.g. pool/newdataset",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "pond/a"}}, `-32602 [["pool_dataset_create.name","zpool (pond) does not exist.",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "tank/x/y"}}, `-32602 [["pool_dataset_create.name","Parent dataset (tank/x) does not exist.",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "tank/k8s"}}, `-32602 [["pool_dataset_create.name","Path /mnt/tank/k8s already exists",22]]`},
		{"pool.dataset.create", []any{map[string]any{"name": "tank/a", "recordsize": "3K"}}, `-32602 [["pool_dataset_create.recordsize","'3K' is an invalid recordsize.",22]]`},
		{"pool.dataset.update", []any{"tank/z", map[string]any{}}, `-32602 [["id","tank/z does not exist",2]]`},
		{"pool.dataset.update", []any{"tank/k8s", map[string]any{"share_type": "NFS"}}, `-32602 [["data.share_type","Extra inputs are not permitted",22]]`},
		{"pool.dataset.get_instance", []any{"tank/z"}, `-32602 [[null,"PoolDataset tank/z does not exist",2]]`},
		{"pool.dataset.delete", []any{"tank"}, "-32001 [ENOTEMPTY] Failed to delete dataset: cannot destroy 'tank': filesystem has children"},
		{"sharing.nfs.create", []any{map[string]any{"path": "/mnt/tank/z"}}, `-32602 [["sharingnfs_create.path","This path does not exist.",22]]`},
		{"sharing.nfs.create", []any{map[string]any{"path": "/srv"}}, `-32602 [["sharingnfs_create.path","The path must reside within a pool mount point",22]]`},
		{"sharing.nfs.create", []any{map[string]any{"path": "/mnt/tank/k8s", "networks": []any{"10.0.0.0/8", "10.1.0.0/16"}}}, `-32602 [["sharingnfs_create.networks","ERROR - Overlapped subnets: [('10.0.0.0/8', '10.1.0.0/16')]",22]]`},
		{"sharing.nfs.create", []any{map[string]any{"paths": []any{"/mnt/tank/k8s"}}}, `-32602 [["data.path","Field required",22],["data.paths","Extra inputs are not permitted",22]]`},
		{"sharing.nfs.delete", []any{7}, `-32602 [[null,"SharingNFS 7 does not exist",2]]`},
		{"iscsi.portal.create", []any{map[string]any{"listen": []any{map[string]any{"ip": "10.9.9.9"}}}}, `-32602 [["iscsiportal_create.listen","IP 10.9.9.9 not configured on this system.",22]]`},
		{"iscsi.portal.create", []any{map[string]any{"listen": []any{}}}, `-32602 [["iscsiportal_create.listen","At least one listen entry is required.",22]]`},
		{"iscsi.auth.create", []any{map[string]any{"tag": 1, "user": "a", "secret": "short"}}, `-32602 [["iscsi_auth_create.secret","Secret must be between 12 and 16 characters.",22]]`},
		{"iscsi.target.create", []any{map[string]any{"name": "A b"}}, `-32602 [["iscsi_target_create.name","Value error, Name can only contain lowercase alphanumeric charactersplus dot (.), dash (-), and colon (:)",22]]`},
		{"service.update", []any{"nfsd", map[string]any{"enable": true}}, "-32001 [ENOENT] Service nfsd not found."},
		{"service.control", []any{"BEGIN", "nfs"}, `-32602 [["verb","Input should be 'START', 'STOP', 'RESTART' or 'RELOAD'",22]]`},
		{"api_key.create", []any{map[string]any{"name": "csi", "username": "nobody"}}, `-32602 [["api_key_create","User does not exist.",22]]`},
	} {
		_, failed := l.call(test.method, test.params...)
		require.Equal(t, test.text, failed, test.method)
	}
	r.fail(t, "nas-pool-full")
	_, failed := l.call("pool.dataset.create", map[string]any{"name": "tank/a"})
	require.Equal(t, "-32001 [EFAULT] Failed to create dataset: out of space", failed)
	r.fail(t, "nas-dataset-busy")
	_, failed = l.call("pool.dataset.delete", "tank/k8s")
	require.Equal(t, "-32001 [EBUSY] Failed to delete dataset: cannot destroy 'tank/k8s': dataset is busy", failed)
}

// TestADatasetTakesItsSharesWithIt checks what a client finds afterwards.
func TestADatasetTakesItsSharesWithIt(t *testing.T) {
	t.Parallel()
	l := serve(t).login(t)
	l.must("pool.dataset.create", map[string]any{"name": "tank/k8s"})
	share := l.must("sharing.nfs.create", map[string]any{"path": "/mnt/tank/k8s", "networks": []any{"192.168.20.0/24"}}).(map[string]any)
	require.Equal(t, []any{float64(1), false, true}, []any{share["id"], share["locked"], share["enabled"]})
	l.must("pool.dataset.delete", "tank/k8s")
	_, failed := l.call("sharing.nfs.delete", 1)
	require.Equal(t, `-32602 [[null,"SharingNFS 1 does not exist",2]]`, failed)
}

// TestABlockVolume makes what an iSCSI volume consists of, as a CSI driver does, and deletes it in its order.
func TestABlockVolume(t *testing.T) {
	t.Parallel()
	l := serve(t).login(t)
	id := func(object any) any { return object.(map[string]any)["id"] }
	portal := l.must("iscsi.portal.create", map[string]any{"listen": []any{map[string]any{"ip": "0.0.0.0"}}})
	require.Equal(t, []any{map[string]any{"ip": "0.0.0.0", "port": float64(3260)}}, portal.(map[string]any)["listen"])
	initiator := l.must("iscsi.initiator.create", map[string]any{"initiators": []any{}})
	l.must("pool.dataset.create", map[string]any{"name": "tank/pvc-1", "type": "VOLUME", "volsize": 1 << 30, "sparse": true})
	target := l.must("iscsi.target.create", map[string]any{
		"name": "pvc-1", "groups": []any{map[string]any{"portal": id(portal), "initiator": id(initiator)}},
	})
	extent := l.must("iscsi.extent.create", map[string]any{"name": "pvc-1", "type": "DISK", "disk": "zvol/tank/pvc-1"})
	mapped := l.must("iscsi.targetextent.create", map[string]any{"target": id(target), "extent": id(extent)})
	require.EqualValues(t, 0, mapped.(map[string]any)["lunid"])
	l.must("iscsi.targetextent.delete", id(mapped))
	l.must("iscsi.extent.delete", id(extent), false, true)
	l.must("iscsi.target.delete", id(target), true, false)
	l.must("pool.dataset.delete", "tank/pvc-1")
	require.Equal(t, []any{}, l.must("iscsi.target.query"))
}

// TestAUserMayWhatItsRolesSay makes a user of least rights and logs in as it.
func TestAUserMayWhatItsRolesSay(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.login(t)
	user := l.must("user.create", map[string]any{
		"username": "csi", "full_name": "CSI driver", "group_create": true, "password_disabled": true, "smb": false,
	}).(map[string]any)
	_, failed := l.call("api_key.create", map[string]any{"name": "csi", "username": "csi"})
	require.Equal(t, `-32602 [["api_key_create","User lacks privilege role membership.",22]]`, failed)
	gid := user["group"].(map[string]any)["bsdgrp_gid"]
	l.must("privilege.create", map[string]any{"name": "csi", "local_groups": []any{gid}, "roles": []any{"DATASET_READ", "SHARING_NFS_WRITE"}, "web_shell": false})
	made := l.must("api_key.create", map[string]any{"name": "csi", "username": "csi"}).(map[string]any)
	require.NotContains(t, l.must("api_key.query").([]any)[1], "key", "it is told once")

	csi := r.dial(t)
	require.Equal(t, true, csi.must("auth.login_with_api_key", made["key"]))
	csi.must("pool.dataset.query")
	_, failed = csi.call("pool.dataset.create", map[string]any{"name": "tank/a"})
	require.Equal(t, "-32001 [EACCES] Not authorized", failed)
	csi.must("sharing.nfs.create", map[string]any{"path": "/mnt/tank"})

	again := l.must("api_key.update", made["id"], map[string]any{"reset": true}).(map[string]any)
	require.NotEqual(t, made["key"], again["key"])
	require.Equal(t, false, r.dial(t).must("auth.login_with_api_key", made["key"]), "the former key")
}

// TestFreeRoomHasARoleOfItsOwn checks that the roles of datasets do not include that role. The call is that of truenas-csi
// (pkg/client/storage.go, GetAvailableSpace).
func TestFreeRoomHasARoleOfItsOwn(t *testing.T) {
	t.Parallel()
	r := serve(t)
	l := r.login(t)
	as := func(name string, roles ...any) *link {
		user := l.must("user.create", map[string]any{"username": name, "full_name": name, "group_create": true, "password_disabled": true, "smb": false}).(map[string]any)
		l.must("privilege.create", map[string]any{
			"name": name, "local_groups": []any{user["group"].(map[string]any)["bsdgrp_gid"]}, "roles": roles, "web_shell": false,
		})
		made := l.must("api_key.create", map[string]any{"name": name, "username": name}).(map[string]any)
		c := r.dial(t)
		require.Equal(t, true, c.must("auth.login_with_api_key", made["key"]))
		return c
	}
	asked := map[string]any{"paths": []any{"tank"}, "properties": []any{"available"}, "get_source": false}
	_, failed := as("writer", "POOL_READ", "DATASET_WRITE", "DATASET_DELETE").call("zfs.resource.query", asked)
	require.Equal(t, "-32001 [EACCES] Not authorized", failed)
	reader := as("reader", "ZFS_RESOURCE_READ")
	free := float64(100<<30 - 96<<10)
	require.Equal(t, []any{map[string]any{
		"createtxg": float64(1), "guid": float64(1), "name": "tank", "pool": "tank", "type": "FILESYSTEM", "user_properties": nil, "children": nil,
		"properties": map[string]any{"available": map[string]any{"raw": "107374084096", "value": free, "source": nil}},
	}}, reader.must("zfs.resource.query", asked))
	for _, refused := range []struct{ path, text string }{
		{"tank/none", `-32602 [["zfs.resource.query","'tank/none': not found",2]]`},
		{"tank@a", `-32602 [["zfs.resource.query","Querying snapshot information is unsupported at this time.",22]]`},
	} {
		_, failed = reader.call("zfs.resource.query", map[string]any{"paths": []any{refused.path}, "properties": []any{"available"}})
		require.Equal(t, refused.text, failed)
	}
}

func TestAStateOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	var config truenas.Config
	r := serve(t, func(c *truenas.Config) { config = *c })
	r.login(t).must("pool.dataset.create", map[string]any{"name": "tank/k8s", "quota": 5 << 30})
	require.NoError(t, r.box.Write("tank/k8s", 1<<30))
	require.NoError(t, r.box.Close())

	l := serve(t, func(c *truenas.Config) { c.StateFile = config.StateFile }).login(t)
	found := l.must("pool.dataset.get_instance", "tank/k8s")
	require.Equal(t, "5368709120", property(t, found, "quota")["rawvalue"])
	require.Greater(t, property(t, found, "used")["parsed"], float64(1<<30))
}

// TestTargetsAreNamedAsTheConfigurationSays also uses a box that was made with another name.
func TestTargetsAreNamedAsTheConfigurationSays(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nas.json")
	for _, step := range []struct{ base, want string }{
		{"", "iqn.2005-10.org.freenas.ctl"}, {"iqn.2024-01.com.example", "iqn.2024-01.com.example"}, {"", "iqn.2024-01.com.example"},
	} {
		r := serve(t, func(c *truenas.Config) { c.StateFile, c.ISCSIBase = file, step.base })
		settings := r.login(t).must("iscsi.global.config").(map[string]any)
		require.Equal(t, step.want, settings["basename"])
		require.NoError(t, r.box.Close())
	}
}
