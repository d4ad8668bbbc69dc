package stacks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/shell"
)

// SnapshotCopies are the snapshots of etcd that were copied into the bucket of an inventory.
type SnapshotCopies struct {
	// Bucket is its URL, without parameters.
	Bucket string `json:"bucket"`
	// Sent are the names of the snapshots that it lacked and has now, newest first.
	Sent []string `json:"sent"`
}

// SnapshotCopier copies the snapshots of etcd of a stack that the bucket of the inventory lacks into it, newest first. With an error, which
// ends with what to do, it returns what it has copied before.
type SnapshotCopier func(ctx context.Context, stack string, inv *inventory.Inventory, options Options) (SnapshotCopies, error)

// copyByTool runs the tool to copy them: the client of an S3 server would make the program's build a third longer
// (docs/decisions/0064-snapshots-leave-the-machine.md).
func copyByTool(ctx context.Context, stack string, inv *inventory.Inventory, options Options) (SnapshotCopies, error) {
	arguments := fmt.Sprintf(`--stack %s --inventory "$0" --output json`, shell.Word(stack))
	for _, place := range []struct{ flag, value string }{{"--snapshots", options.Snapshots}, {"--bucket", options.BucketStandIn}} {
		if place.value != "" {
			arguments += " " + place.flag + " " + shell.Word(place.value)
		}
	}
	var stdout bytes.Buffer
	failed := components.ToolRun{
		Command: "etcd copy", Arguments: arguments, Value: inv.Dir, Dir: options.Root, Env: options.Env, Stdout: &stdout,
	}.Do(ctx)
	var copies SnapshotCopies
	if err := json.Unmarshal(stdout.Bytes(), &copies); err != nil && failed == nil {
		failed = errors.New("em-infra etcd copy did not answer in JSON: build em-infra anew")
	}
	return copies, failed
}
