package truenas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/remedy"
)

// OwnerProperty is the user property of a dataset that names the stack that has created it. A dataset without it was there before, and is never
// deleted.
const OwnerProperty = "em-infra:owner"

// Dataset is a filesystem dataset. Properties that are not given are inherited, or ZFS' own.
type Dataset struct {
	// Name with its pool, e.g. tank/k8s. Required.
	Name string `json:"name"`
	// Quota is what the dataset and all below it may take, in bytes, at least 1 GiB. Default: 0, none.
	Quota int64 `json:"quota,omitempty"`
	// RefQuota is what the dataset alone may take, in bytes, at least 1 GiB. Default: 0, none.
	RefQuota int64 `json:"refquota,omitempty"`
	// Compression such as LZ4 or ZSTD. Default: empty, inherited.
	Compression string `json:"compression,omitempty"`
	// RecordSize such as 128K. Default: empty, inherited.
	RecordSize string `json:"recordSize,omitempty"`
	// ShareType sets the access control of a new dataset for its use: GENERIC, NFS, SMB, MULTIPROTOCOL or APPS. Required.
	ShareType string `json:"shareType"`
	// Owner is the stack that creates it. Required.
	Owner string `json:"owner"`
}

// property is a property as the API answers it.
type property struct {
	Raw    string `json:"rawvalue"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// own returns the value if it is set on the dataset itself: an inherited value counts as a property that is not given.
func (p property) own() string {
	if p.Source != "LOCAL" && p.Source != "RECEIVED" {
		return ""
	}
	return p.Value
}

func (p property) bytes() int64 {
	if p.own() == "" {
		return 0
	}
	return p.size()
}

// size returns a number of bytes, wherever it is set.
func (p property) size() int64 {
	size, err := strconv.ParseInt(p.Raw, 10, 64)
	if err != nil {
		return 0
	}
	return size
}

// foundDataset is a dataset as the API answers it.
type foundDataset struct {
	ID             string              `json:"id"`
	Type           string              `json:"type"`
	Locked         bool                `json:"locked"`
	Quota          property            `json:"quota"`
	RefQuota       property            `json:"refquota"`
	Compression    property            `json:"compression"`
	RecordSize     property            `json:"recordsize"`
	Used           property            `json:"used"`
	Available      property            `json:"available"`
	UserProperties map[string]property `json:"user_properties"`
	Children       []struct {
		ID string `json:"id"`
	} `json:"children"`
}

func (c *Client) dataset(ctx context.Context, name string) (*foundDataset, error) {
	var found []foundDataset
	err := c.Call(ctx, &found, "pool.dataset.query", []any{[]any{"id", "=", name}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// FindDataset returns the dataset of that name as it is; nil if there is none. It has the wanted owner even if it was there before the stack, because
// an adoption does not change its owner.
func (c *Client) FindDataset(ctx context.Context, wanted Dataset) (*Dataset, error) {
	found, err := c.dataset(ctx, wanted.Name)
	if err != nil || found == nil {
		return nil, err
	}
	if found.Type != "FILESYSTEM" {
		return nil, remedy.Errorf("choose another name", "%s is a volume, no filesystem", wanted.Name)
	}
	return &Dataset{
		Name: found.ID, Quota: found.Quota.bytes(), RefQuota: found.RefQuota.bytes(), Compression: found.Compression.own(),
		RecordSize: found.RecordSize.own(), ShareType: wanted.ShareType, Owner: wanted.Owner,
	}, nil
}

// WriteDataset creates a dataset, or changes what differs. found is what [Client.FindDataset] returns.
func (c *Client) WriteDataset(ctx context.Context, wanted Dataset, found *Dataset) error {
	if found == nil {
		return c.createDataset(ctx, wanted)
	}
	changed := map[string]any{}
	if wanted.Quota != found.Quota {
		changed["quota"] = sizeOrNone(wanted.Quota)
	}
	if wanted.RefQuota != found.RefQuota {
		changed["refquota"] = sizeOrNone(wanted.RefQuota)
	}
	if wanted.Compression != found.Compression {
		changed["compression"] = orInherit(wanted.Compression)
	}
	if wanted.RecordSize != found.RecordSize {
		changed["recordsize"] = orInherit(wanted.RecordSize)
	}
	if len(changed) == 0 {
		return nil
	}
	return c.Call(ctx, nil, "pool.dataset.update", wanted.Name, changed)
}

func (c *Client) createDataset(ctx context.Context, wanted Dataset) error {
	given := map[string]any{
		"name": wanted.Name, "type": "FILESYSTEM", "share_type": wanted.ShareType, "create_ancestors": false,
		"compression":     orInherit(wanted.Compression),
		"user_properties": []any{map[string]any{"key": OwnerProperty, "value": wanted.Owner}},
	}
	if wanted.RecordSize != "" {
		given["recordsize"] = wanted.RecordSize
	}
	if wanted.Quota > 0 {
		given["quota"] = wanted.Quota
	}
	if wanted.RefQuota > 0 {
		given["refquota"] = wanted.RefQuota
	}
	err := c.Call(ctx, nil, "pool.dataset.create", given)
	if IsFull(err) {
		pool, _, _ := strings.Cut(wanted.Name, "/")
		return remedy.Errorf("free some, or add disks to it", "%w: the pool %s has no room left", err, pool)
	}
	return err
}

func sizeOrNone(size int64) any {
	if size == 0 {
		return nil
	}
	return size
}

func orInherit(value string) string {
	if value == "" {
		return "INHERIT"
	}
	return value
}

// DeleteDataVariable names the datasets that are deleted with what is in them, separated by commas.
const DeleteDataVariable = "EM_INFRA_DELETE_DATASETS"

// emptyDataset is what a dataset without files takes at most, in bytes: metadata of ZFS and an ACL.
const emptyDataset = 1 << 20

// Kept says why something was not deleted. It is no error: what is kept can be deleted later.
type Kept struct{ Why string }

// RemoveDataset deletes a dataset that the stack has created. It keeps one that was there before, that is not empty, or that holds
// other datasets, unless [DeleteDataVariable] names it.
func (c *Client) RemoveDataset(ctx context.Context, wanted Dataset) (*Kept, error) {
	found, err := c.dataset(ctx, wanted.Name)
	if err != nil || found == nil {
		return nil, err
	}
	named := slices.Contains(strings.Split(os.Getenv(DeleteDataVariable), ","), wanted.Name)
	if why := found.keptBecause(wanted, named); why != "" {
		return &Kept{why}, nil
	}
	err = c.Call(ctx, nil, "pool.dataset.delete", wanted.Name, map[string]any{"recursive": named, "force": false})
	switch {
	case IsGone(err):
		return nil, nil
	case Number(err) == EBUSY:
		return nil, remedy.Errorf("end its NFS clients and iSCSI sessions, then run it again", "%w: something uses it", err)
	}
	return nil, err
}

// keptBecause says why a dataset is not deleted; empty if it is.
func (f foundDataset) keptBecause(wanted Dataset, named bool) string {
	owner := f.UserProperties[OwnerProperty]
	switch {
	case owner.own() == "":
		return wanted.Name + " stays on TrueNAS: it was there before this stack"
	case owner.Value != wanted.Owner:
		return wanted.Name + " stays on TrueNAS: it belongs to " + owner.Value
	case named:
		return ""
	case len(f.Children) > 0:
		return fmt.Sprintf("%s stays on TrueNAS, since it holds other datasets: to delete all of them, set %s=%s", wanted.Name, DeleteDataVariable, wanted.Name)
	}
	if used, err := strconv.ParseInt(f.Used.Raw, 10, 64); err != nil || used > emptyDataset {
		return fmt.Sprintf("%s stays on TrueNAS with %s of data: to delete them, set %s=%s", wanted.Name, f.Used.Value, DeleteDataVariable, wanted.Name)
	}
	return ""
}

// Pool is a ZFS pool.
type Pool struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Healthy bool   `json:"healthy"`
	Size    int64  `json:"size"`
	Free    int64  `json:"free"`
}

// Pools returns the pools of the box.
func (c *Client) Pools(ctx context.Context) ([]Pool, error) {
	var pools []Pool
	err := c.Call(ctx, &pools, "pool.query")
	return pools, err
}

// Version returns the release of the box, e.g. 25.10.6.
func (c *Client) Version(ctx context.Context) (string, error) {
	var version string
	err := c.Call(ctx, &version, "system.version")
	if err == nil && version == "" {
		err = errors.New("TrueNAS does not say its version")
	}
	return strings.TrimPrefix(version, "TrueNAS-"), err
}
