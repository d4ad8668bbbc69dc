package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// leaveOut returns the nodes that a rotation changes, and those that it leaves out by their names: they are lost for good. It refuses a name of no
// node, the names of all control planes, and a node that still answers and so would run on with the former secrets.
func leaveOut(ctx context.Context, all []rolling.Node, names []string) (stay, left []rolling.Node, err error) {
	var problems []error
	for _, name := range names {
		if !slices.ContainsFunc(all, func(n rolling.Node) bool { return n.Name == name }) {
			problems = append(problems, fmt.Errorf("--without %s: no node of the cluster has this name: its nodes are %s", name, strings.Join(rolling.Names(all), ", ")))
		}
	}
	for _, node := range all {
		if !slices.Contains(names, node.Name) {
			stay = append(stay, node)
			continue
		}
		if left = append(left, node); nodeops.Listens(ctx, node.Address.String()) {
			problems = append(problems, fmt.Errorf("--without %s: it answers at %s, and would run on with the former secrets: stop its machine if it is to be deleted, or leave the flag out", node.Name, node.Address))
		}
	}
	if len(left) > 0 && !slices.ContainsFunc(stay, func(n rolling.Node) bool { return n.ControlPlane }) {
		problems = append(problems, errors.New("--without: no control plane would be left, and etcd with it: bring one back, or go back to the cluster from before the rotation with `em-infra state restore` and `em-infra etcd restore`"))
	}
	return stay, left, errors.Join(problems...)
}

// again adds what to do to an error in the middle of a rotation, which is no refusal.
func (r *secretsRun) again(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	flags, silent := "", ""
	if len(r.left) > 0 {
		flags = " with " + withoutFlags(r.left)
	}
	if lost := r.silent(ctx); len(lost) > 0 {
		silent = fmt.Sprintf("; if %s is lost for good, stop its machine if there is one, and add %s", strings.Join(rolling.Names(lost), " and "), withoutFlags(lost))
	}
	err = fmt.Errorf("%w: mend that, then run `em-infra rotate %s` again%s, which goes on from there%s", err, r.what, flags, silent)
	return refusal.AfterChanges(r.cluster.place.After("rotate " + r.what).CompleteError(err))
}

// silent returns the nodes that do not answer; none if the run is interrupted.
func (r *secretsRun) silent(ctx context.Context) []rolling.Node {
	if ctx.Err() != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.nodes), func(node rolling.Node) bool { return nodeops.Listens(ctx, node.Address.String()) })
}

func withoutFlags(nodes []rolling.Node) string {
	return "--without " + strings.Join(rolling.Names(nodes), " --without ")
}

// tellLeftOut reports what to do with the nodes that were left out.
func (r *secretsRun) tellLeftOut() {
	for _, node := range r.left {
		deletes := "`em-infra up` deletes its machine"
		if vmid := vmidOf(r.cluster.inventory.Nodes, node.Name); vmid != 0 {
			deletes = fmt.Sprintf("delete its machine with `qm destroy %d --purge` on its host, then `em-infra up` creates it anew", vmid)
		}
		r.emit(Note{Text: r.cluster.place.Complete(fmt.Sprintf("%s was left out and has the former secrets: %s", node.Name, deletes))})
	}
}

// vmidOf returns the VMID of a node; 0 if the inventory does not have it.
func vmidOf(nodes inventory.Nodes, name string) int {
	for _, node := range nodes {
		if node.Name == name {
			return node.VMID
		}
	}
	return 0
}
