package preflight

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/truenas"
)

// Box is how the TrueNAS box of an inventory with `storage:` is reached.
type Box struct {
	// Connection to the box, with the key of the stack.
	Connection truenas.Connection
	// Err is why the connection is not complete: a key or a CA is missing. Several errors are joined.
	Err error
	// Patience is the time limit for all readings of the box. Default: 0, 15 s.
	Patience time.Duration
	// Owner is what this stack writes into its own datasets ([stacks.StorageOwner]).
	Owner string
	// IsSpared is whether the run touches nothing on the box. Findings about it are warnings then.
	IsSpared bool
	// Kinds are the types of what the state has on the box, which the run may have to remove.
	Kinds []tokens.Type
}

// boxPatience is the time limit for all readings of a box, a part of that of the preflight.
const boxPatience = 15 * time.Second

// NAS contains the facts about a TrueNAS box.
type NAS struct {
	// Endpoint is the URL of the box, and User whose key was used.
	Endpoint, User string
	// Err is why the box was not asked.
	Err error
	// Version is its release; if it could not be read, nothing else was.
	Version Reading[string]
	// Roles are those of the user, with all that they include.
	Roles Reading[[]string]
	// Pools are the pools of the box.
	Pools Reading[[]truenas.Pool]
	// Datasets are those of the inventory that exist, and the root dataset of its pool.
	Datasets Reading[[]truenas.FoundDataset]
	// ISCSIBase is the beginning of the names of the box's iSCSI targets; read only if the inventory has iSCSI.
	ISCSIBase Reading[string]
	// Known are the datasets in the state, with their pools.
	Known []string
	// Owner, IsSpared and Kinds are those of the [Box].
	Owner    string
	IsSpared bool
	Kinds    []tokens.Type
}

// nas starts reading the facts about the box; nothing is read without one. The readings of the hosts do not wait for it: a box may accept a
// connection and never answer. join waits for its facts and takes them.
func (g *gatherer) nas(ctx context.Context) (join func()) {
	box := g.subject.Box
	if box == nil {
		return func() {}
	}
	answer := make(chan NAS, 1)
	go func() {
		bounded, cancel := context.WithTimeout(ctx, cmp.Or(box.Patience, boxPatience))
		defer cancel()
		answer <- lookAtBox(bounded, *box, g.subject.Inventory)
	}()
	return func() {
		found := <-answer
		found.Known = g.subject.KnownDatasets
		g.found.NAS = &found
	}
}

// Reach returns why a box does not answer or refuses the login; nil if it does neither.
func Reach(ctx context.Context, box Box) error {
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(box.Patience, boxPatience))
	defer cancel()
	return box.Connection.Do(bounded, func(context.Context, *truenas.Client) error { return nil })
}

// Pools returns the pools of a box.
func Pools(ctx context.Context, box Box) (pools []truenas.Pool, err error) {
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(box.Patience, boxPatience))
	defer cancel()
	err = box.Connection.Do(bounded, func(ctx context.Context, client *truenas.Client) (err error) {
		pools, err = client.Pools(ctx)
		return err
	})
	return pools, err
}

// lookAtBox reads the facts on one connection: the box counts logins.
func lookAtBox(ctx context.Context, box Box, inv *inventory.Inventory) NAS {
	found := NAS{
		Endpoint: box.Connection.Endpoint, User: box.Connection.Username, Err: box.Err, Owner: box.Owner, IsSpared: box.IsSpared, Kinds: box.Kinds,
	}
	if box.Err != nil {
		return found
	}
	session := truenas.NewSession(box.Connection)
	defer session.Close()
	found.Version = asked(ctx, session, (*truenas.Client).Version)
	if found.Version.Err != nil {
		return found
	}
	found.Roles = asked(ctx, session, (*truenas.Client).Roles)
	found.Pools = asked(ctx, session, (*truenas.Client).Pools)
	found.Datasets = asked(ctx, session, func(c *truenas.Client, ctx context.Context) ([]truenas.FoundDataset, error) {
		return c.FindDatasets(ctx, namesOnBox(*inv.Cluster.Storage))
	})
	if inv.Cluster.Storage.ISCSI != nil {
		found.ISCSIBase = asked(ctx, session, (*truenas.Client).ISCSIBase)
	}
	return found
}

func asked[T any](ctx context.Context, session *truenas.Session, ask func(*truenas.Client, context.Context) (T, error)) (answer Reading[T]) {
	answer.Err = session.Do(ctx, func(ctx context.Context, client *truenas.Client) (err error) {
		answer.Value, err = ask(client, ctx)
		return err
	})
	return answer
}

// namesOnBox returns the pool's root dataset and the datasets of the inventory.
func namesOnBox(storage inventory.Storage) []string {
	names := []string{storage.Pool}
	for _, dataset := range storage.Datasets {
		names = append(names, storage.Path(dataset))
	}
	return names
}

// dataset returns what is known of a dataset, if it exists.
func (n NAS) dataset(name string) (truenas.FoundDataset, bool) {
	at := slices.IndexFunc(n.Datasets.Value, func(d truenas.FoundDataset) bool { return d.Name == name })
	if at < 0 {
		return truenas.FoundDataset{}, false
	}
	return n.Datasets.Value[at], true
}
