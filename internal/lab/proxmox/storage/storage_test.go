package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

func newStorage(kind storage.Type) *storage.Storage {
	s := storage.New(storage.Definition{
		ID: "s1", Type: kind, Content: []string{storage.Images, storage.ISO}, Path: "/srv", Nodes: []string{"a"},
	})
	s.AddRoom("a", 100<<30, 10<<30)

	return s
}

func TestNames(t *testing.T) {
	t.Parallel()

	tests := map[storage.Type]struct{ first, base, linked, path string }{
		storage.ZFSPool: {"s1:vm-101-disk-0", "s1:base-101-disk-0", "s1:base-101-disk-0/vm-102-disk-0", "/dev/zvol/s1/vm-101-disk-0"},
		storage.LVMThin: {"s1:vm-101-disk-0", "s1:base-101-disk-0", "s1:base-101-disk-0/vm-102-disk-0", "/dev/s1/vm-101-disk-0"},
		storage.Dir: {
			"s1:101/vm-101-disk-0.raw", "s1:101/base-101-disk-0.raw", "s1:101/base-101-disk-0.raw/102/vm-102-disk-0.raw",
			"/srv/images/101/vm-101-disk-0.raw",
		},
	}

	for kind, test := range tests {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()

			s := newStorage(kind)

			first, err := s.Allocate(storage.Request{Node: "a", VMID: 101, Bytes: 1 << 30})
			require.NoError(t, err)
			require.Equal(t, test.first, first.ID)
			require.Equal(t, test.path, s.FilePath(first))

			second, err := s.Allocate(storage.Request{Node: "a", VMID: 101, Bytes: 1 << 30})
			require.NoError(t, err)
			require.Contains(t, second.ID, "disk-1")

			_, err = s.Link(first, storage.Request{Node: "a", VMID: 102})
			require.EqualError(t, err, "clone_image only works on base images")

			base, err := s.MakeBase("a", first.ID)
			require.NoError(t, err)
			require.Equal(t, test.base, base)

			linked, err := s.Link(first, storage.Request{Node: "a", VMID: 102})
			require.NoError(t, err)
			require.Equal(t, test.linked, linked.ID)
			require.False(t, linked.Base())

			require.ErrorContains(t, s.Free("a", base), "is still in use by linked clones")
			require.NoError(t, s.Free("a", linked.ID))
			require.NoError(t, s.Free("a", base))
			require.NoError(t, s.Free("a", base), "what is gone is gone")

			again, err := s.Allocate(storage.Request{Node: "a", VMID: 101, Bytes: 1 << 30})
			require.NoError(t, err)
			require.Equal(t, test.first, again.ID, "the lowest number that is free")
		})
	}
}

func TestRoom(t *testing.T) {
	t.Parallel()

	s := newStorage(storage.ZFSPool)

	_, err := s.Allocate(storage.Request{Node: "a", VMID: 101, Bytes: 91 << 30})
	require.EqualError(t, err, "zfs error: cannot create 's1/vm-101-disk-0': out of space")

	v, err := s.Allocate(storage.Request{Node: "a", VMID: 101, Bytes: 80 << 30})
	require.NoError(t, err)

	room, err := s.Room("a")
	require.NoError(t, err)
	require.Equal(t, storage.Room{Total: 100 << 30, Used: 90 << 30, Available: 10 << 30}, room)

	require.EqualError(t, s.Resize("a", v.ID, 91<<30),
		"zfs error: cannot set property for 's1/vm-101-disk-0': size is greater than available space")
	require.NoError(t, s.Resize("a", v.ID, 90<<30))

	_, err = s.Put("a", storage.File{Content: storage.ISO, Name: "x.iso", Format: "iso", Bytes: 1, Identity: "id"})
	require.EqualError(t, err, "write error: No space left on device")

	_, err = s.Room("b")
	require.EqualError(t, err, "storage 's1' is not available on node 'b'")
	require.EqualError(t, s.Resize("a", "s1:none", 1), "volume 's1:none' does not exist")
	_, err = s.MakeBase("a", "s1:none")
	require.EqualError(t, err, "volume 's1:none' does not exist")
}

// TestSharedRoom checks that a shared storage has one space, and a local one a space on each node.
func TestSharedRoom(t *testing.T) {
	t.Parallel()

	for shared, elsewhere := range map[bool]bool{true: true, false: false} {
		s := storage.New(storage.Definition{ID: "s1", Type: storage.NFS, Shared: shared, Path: "/srv"})
		s.AddRoom("a", 1<<40, 0)
		s.AddRoom("b", 1<<40, 0)

		v, err := s.Put("a", storage.File{Content: storage.ISO, Name: "x.iso", Format: "iso", Bytes: 5, Identity: "id"})
		require.NoError(t, err)

		_, found := s.Find("b", v.ID)
		require.Equal(t, elsewhere, found)

		if !shared {
			require.NoError(t, s.MoveNode("a", "b", v.ID))
			require.EqualError(t, s.MoveNode("a", "b", v.ID), "volume 's1:iso/x.iso' does not exist")
		}
	}
}
