package components_test

import (
	"testing"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve"
	"github.com/pulumi/pulumi-command/sdk/go/command"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/recorder"
)

// program makes components with providers that are given to it.
type program func(ctx *pulumi.Context, providers pulumi.ResourceOption) error

// run runs a program against the recorder, as an update or as a preview.
func run(t testing.TB, preview bool, program program, options ...pulumi.RunOption) (*recorder.Recorder, error) {
	t.Helper()
	if preview {
		options = append(options, recorder.Preview)
	}
	return recorder.Run(t, func(ctx *pulumi.Context) error {
		providers, err := providers(ctx)
		if err != nil {
			return err
		}
		return program(ctx, providers)
	}, options...)
}

// refusal returns the error of a program whose arguments are invalid. The program returns the error, since a test must not end
// on the program's goroutine.
func refusal(t testing.TB, program program) error {
	t.Helper()
	var refused error
	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		refused = program(ctx, providers)
		return nil
	})
	require.NoError(t, err)
	return refused
}

func providers(ctx *pulumi.Context) (pulumi.ResourceOption, error) {
	proxmox, err := proxmoxve.NewProvider(ctx, "proxmox", &proxmoxve.ProviderArgs{})
	if err != nil {
		return nil, err
	}
	machines, err := talos.NewProvider(ctx, "talos", &talos.ProviderArgs{})
	if err != nil {
		return nil, err
	}
	commands, err := command.NewProvider(ctx, "command", &command.ProviderArgs{})
	if err != nil {
		return nil, err
	}
	return pulumi.Providers(proxmox, machines, commands), nil
}
