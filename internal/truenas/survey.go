package truenas

import "context"

// FoundDataset is what has to be known about a dataset before a run touches it.
type FoundDataset struct {
	// Name with its pool.
	Name string
	// IsVolume is whether it is a volume, which cannot hold files.
	IsVolume bool
	// IsLocked is whether it is encrypted and its key is not loaded.
	IsLocked bool
	// Owner is the stack that has created it, as in [Dataset]; empty if none has.
	Owner string
	// Used is what it takes with all below it, in bytes, and Available what may still be written there.
	Used, Available int64
}

// FindDatasets returns those of the datasets that exist.
func (c *Client) FindDatasets(ctx context.Context, names []string) ([]FoundDataset, error) {
	var rows []foundDataset
	options := map[string]any{"extra": map[string]any{"retrieve_children": false}}
	if err := c.Call(ctx, &rows, "pool.dataset.query", []any{[]any{"id", "in", names}}, options); err != nil {
		return nil, err
	}
	found := make([]FoundDataset, len(rows))
	for i, row := range rows {
		owner := row.UserProperties[OwnerProperty]
		found[i] = FoundDataset{
			Name: row.ID, IsVolume: row.Type != "FILESYSTEM", IsLocked: row.Locked, Owner: owner.own(),
			Used: row.Used.size(), Available: row.Available.size(),
		}
	}
	return found, nil
}

// FullAdmin is the role that may call everything.
const FullAdmin = "FULL_ADMIN"

// Roles returns the roles of the user who has logged in, with all that they include (plugins/account_/privilege.py, compose_privilege).
func (c *Client) Roles(ctx context.Context) ([]string, error) {
	var me struct {
		Privilege struct {
			Roles struct { // a set of Python (truenas_api_client, ejson.py)
				Set []string `json:"$set"`
			} `json:"roles"`
		} `json:"privilege"`
	}
	err := c.Call(ctx, &me, "auth.me")
	return me.Privilege.Roles.Set, err
}

// ISCSIBase returns the beginning of the IQNs of all targets of the box.
func (c *Client) ISCSIBase(ctx context.Context) (string, error) {
	var settings struct {
		Base string `json:"basename"`
	}
	err := c.Call(ctx, &settings, "iscsi.global.config")
	return settings.Base, err
}
