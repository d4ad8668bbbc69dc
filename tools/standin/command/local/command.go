// Package local runs commands on this machine as resources: the type command:local:Command.
//
// Inputs, outputs and semantics are those of pulumi-command v1.2.1 (SDK module github.com/pulumi/pulumi-command/sdk, package
// go/command/local; provider/pkg/provider/local of the repository at that tag).
package local

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi-go-provider/infer/types"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Command is the resource command:local:Command. The token comes from the names of this package and this type.
type Command struct{}

// CommandInputs are the inputs that a program sets. All are optional. A missing command is not run.
type CommandInputs struct {
	Triggers *[]any  `pulumi:"triggers,optional" provider:"replaceOnChanges"` // Any change replaces the resource.
	Create   *string `pulumi:"create,optional"`                               // Run once, when the resource is created.
	Update   *string `pulumi:"update,optional"`                               // Run on a change. Default: Create.
	Delete   *string `pulumi:"delete,optional"`                               // Run when the resource is deleted.

	Stdin       *string            `pulumi:"stdin,optional"`
	Logging     *Logging           `pulumi:"logging,optional"`     // Default: both streams.
	Interpreter *[]string          `pulumi:"interpreter,optional"` // Default, also for an empty list: ["/bin/sh", "-c"].
	Dir         *string            `pulumi:"dir,optional"`         // Default: the plugin's working directory.
	Environment *map[string]string `pulumi:"environment,optional"` // Added to the plugin's own environment.

	AssetPaths   *[]string `pulumi:"assetPaths,optional"`   // Globs of files to return one by one.
	ArchivePaths *[]string `pulumi:"archivePaths,optional"` // Globs of files to return as one archive.

	// AddPreviousOutputInEnv passes stdout and stderr of the last create or update to the next run as PULUMI_COMMAND_STDOUT and
	// PULUMI_COMMAND_STDERR. Default: true.
	AddPreviousOutputInEnv *bool `pulumi:"addPreviousOutputInEnv,optional"`
}

// CommandOutputs are the inputs and the results of the last successful create or update.
type CommandOutputs struct {
	CommandInputs
	Results
}

// Results are the results of a run. Stdout and Stderr do not contain the last line break.
type Results struct {
	Stdout  string                            `pulumi:"stdout"`
	Stderr  string                            `pulumi:"stderr"`
	Assets  *map[string]*types.AssetOrArchive `pulumi:"assets,optional"`  // By path relative to Dir.
	Archive *resource.Archive                 `pulumi:"archive,optional"` // The files by path relative to Dir.
}

// Create runs the create command, except in a preview.
func (*Command) Create(
	ctx context.Context, req infer.CreateRequest[CommandInputs],
) (infer.CreateResponse[CommandOutputs], error) {
	state := CommandOutputs{CommandInputs: req.Inputs}
	id, err := resource.NewUniqueHex(req.Name, 8, 0)
	if err != nil {
		return infer.CreateResponse[CommandOutputs]{}, fmt.Errorf("make an ID for %s: %w", req.Name, err)
	}
	if !req.DryRun && req.Inputs.Create != nil {
		state.Results, err = run(ctx, *req.Inputs.Create, req.Inputs, Results{})
	}
	return infer.CreateResponse[CommandOutputs]{ID: id, Output: state}, err
}

// Update runs the update command, or the create command if there is none, except in a preview.
func (*Command) Update(
	ctx context.Context, req infer.UpdateRequest[CommandInputs, CommandOutputs],
) (infer.UpdateResponse[CommandOutputs], error) {
	state := CommandOutputs{CommandInputs: req.Inputs, Results: req.State.Results}
	command := req.Inputs.Update
	if command == nil {
		command = req.Inputs.Create
	}
	var err error
	if !req.DryRun && command != nil {
		state.Results, err = run(ctx, *command, req.Inputs, req.State.Results)
	}
	return infer.UpdateResponse[CommandOutputs]{Output: state}, err
}

// Delete runs the delete command.
func (*Command) Delete(ctx context.Context, req infer.DeleteRequest[CommandOutputs]) (infer.DeleteResponse, error) {
	if req.State.Delete == nil {
		return infer.DeleteResponse{}, nil
	}
	_, err := run(ctx, *req.State.Delete, req.State.CommandInputs, req.State.Results)
	return infer.DeleteResponse{}, err
}
