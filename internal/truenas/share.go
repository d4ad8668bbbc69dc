package truenas

import (
	"context"
	"slices"
)

// ownerComment returns the mark of an object that has a comment instead of user properties.
func ownerComment(owner string) string { return "em-infra: " + owner }

// Share is an NFS share of a dataset.
type Share struct {
	// Path that is exported, /mnt/DATASET. Required.
	Path string `json:"path"`
	// Networks that may mount it, in CIDR notation. Required.
	Networks []string `json:"networks"`
	// MapRootUser is the user of the box that a client's root is mapped to. Default: empty, nobody.
	MapRootUser string `json:"mapRootUser,omitempty"`
	// ReadOnly refuses writes. Default: false.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Enabled exports it. Required.
	Enabled bool `json:"enabled"`
	// Owner is the stack that creates it. Required.
	Owner string `json:"owner"`
}

type foundShare struct {
	ID          int      `json:"id"`
	Path        string   `json:"path"`
	Comment     string   `json:"comment"`
	Networks    []string `json:"networks"`
	MapRootUser *string  `json:"maproot_user"`
	ReadOnly    bool     `json:"ro"`
	Enabled     bool     `json:"enabled"`
}

// share returns the share of a path: that of this stack, or else the first one.
func (c *Client) share(ctx context.Context, wanted Share) (*foundShare, error) {
	var found []foundShare
	err := c.Call(ctx, &found, "sharing.nfs.query", []any{[]any{"path", "=", wanted.Path}}, map[string]any{"order_by": []string{"id"}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	at := slices.IndexFunc(found, func(s foundShare) bool { return s.Comment == ownerComment(wanted.Owner) })
	return &found[max(at, 0)], nil
}

// FindShare returns the share of that path as it is; nil if there is none.
func (c *Client) FindShare(ctx context.Context, wanted Share) (*Share, error) {
	found, err := c.share(ctx, wanted)
	if err != nil || found == nil {
		return nil, err
	}
	share := &Share{
		Path: found.Path, Networks: sameOrder(found.Networks, wanted.Networks), ReadOnly: found.ReadOnly, Enabled: found.Enabled, Owner: wanted.Owner,
	}
	if found.MapRootUser != nil {
		share.MapRootUser = *found.MapRootUser
	}
	return share, nil
}

// sameOrder returns found in the order of wanted if both have the same members: a set has no order.
func sameOrder(found, wanted []string) []string {
	if len(found) == len(wanted) && !slices.ContainsFunc(found, func(one string) bool { return !slices.Contains(wanted, one) }) {
		return wanted
	}
	return found
}

// WriteShare creates a share, or changes it.
func (c *Client) WriteShare(ctx context.Context, wanted Share, found *Share) error {
	given := map[string]any{
		"networks": wanted.Networks, "ro": wanted.ReadOnly, "enabled": wanted.Enabled, "maproot_user": textOrNone(wanted.MapRootUser),
	}
	if found == nil {
		given["path"], given["comment"] = wanted.Path, ownerComment(wanted.Owner)
		return c.Call(ctx, nil, "sharing.nfs.create", given)
	}
	there, err := c.share(ctx, wanted)
	if err != nil || there == nil {
		return err
	}
	return c.Call(ctx, nil, "sharing.nfs.update", there.ID, given)
}

func textOrNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// RemoveShare deletes a share of this stack. One that is gone went with its dataset.
func (c *Client) RemoveShare(ctx context.Context, wanted Share) (*Kept, error) {
	found, err := c.share(ctx, wanted)
	if err != nil || found == nil {
		return nil, err
	}
	if found.Comment != ownerComment(wanted.Owner) {
		return &Kept{"the NFS share of " + wanted.Path + " stays on TrueNAS: it was there before this stack"}, nil
	}
	return nil, gone(c.Call(ctx, nil, "sharing.nfs.delete", found.ID))
}

// gone ignores the error of a deletion if the object is already gone.
func gone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}
