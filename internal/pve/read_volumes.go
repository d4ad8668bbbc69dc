package pve

import (
	"context"
	"net/url"
	"strconv"
	"strings"
)

// Volume is an item of a storage: a disk, an ISO, a backup.
type Volume struct {
	// ID is its ID on the host, e.g. tank:vm-101-disk-0.
	ID string `json:"volid"`
	// Content is its type: images, iso, backup and others.
	Content string `json:"content"`
	// VMID is the guest that it belongs to; 0 for none.
	VMID ID `json:"vmid"`
	// Bytes are its size.
	Bytes uint64 `json:"size"`
	// Created is when it was written, in seconds since 1970 by the clock of its host; 0 if the storage does not know it.
	Created int64 `json:"ctime"`
}

// ID is a VMID, which this part of the API returns as a number or as text (PVE::Storage, volume_list).
type ID int

// UnmarshalJSON implements [json.Unmarshaler].
func (i *ID) UnmarshalJSON(text []byte) error {
	number, err := strconv.Atoi(strings.Trim(string(text), `"`))
	*i = ID(number)
	return err
}

// Volumes returns the volumes of a storage on one host that the token may see.
func (r Reader) Volumes(ctx context.Context, node, storage string) (volumes []Volume, err error) {
	return volumes, r.get(ctx, &volumes, nodePath(node, "storage/"+url.PathEscape(storage)+"/content"))
}
