package provider_test

import (
	"context"
	"testing"

	"github.com/bpg/terraform-provider-proxmox/proxmox/nodes/vms"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// TestLifeOfAMachine takes a VM through what the provider asks for it, on both releases.
func TestLifeOfAMachine(t *testing.T) {
	t.Parallel()
	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			ctx, l := t.Context(), newLab(t, release)
			require.NoError(t, l.clone(t, 1))
			vm := l.VM(101)
			require.NoError(t, vm.WaitForVMConfigUnlock(ctx, true))
			cores := int64(4)
			require.NoError(t, vm.UpdateVM(ctx, &vms.UpdateRequestBody{CPUCores: &cores}))
			config, err := vm.GetVM(ctx)
			require.NoError(t, err)
			require.Equal(t, int64(4), *config.CPUCores)
			_, err = vm.StartVM(ctx, 60)
			require.NoError(t, err)
			require.NoError(t, vm.WaitForVMStatus(ctx, "running"))
			require.NoError(t, vm.StopVM(ctx))
			require.NoError(t, vm.WaitForVMStatus(ctx, "stopped"))
			require.NoError(t, vm.DeleteVM(ctx))
			_, err = vm.GetVMStatus(ctx)
			require.ErrorContains(t, err, "does not exist")
		})
	}
}

// TestFaultsThatTheProviderBears are over when it has tried again.
func TestFaultsThatTheProviderBears(t *testing.T) {
	t.Parallel()
	tests := map[string]func(context.Context, *lab, *testing.T) error{
		"config-lock-timeout": func(ctx context.Context, l *lab, _ *testing.T) error {
			cores := int64(2)
			return l.VM(101).UpdateVM(ctx, &vms.UpdateRequestBody{CPUCores: &cores})
		},
		"no-worker":   start,
		"status-lags": start,
		"lock-lingers": func(ctx context.Context, l *lab, t *testing.T) error {
			require.NoError(t, l.VM(9000).CloneVM(ctx, 1, &vms.CloneRequestBody{VMIDNew: 102}))
			return l.VM(102).WaitForVMConfigUnlock(ctx, true)
		},
		"slow-reload": func(ctx context.Context, l *lab, _ *testing.T) error { return l.ReloadNetworkConfiguration(ctx) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, schema.Release84)
			require.NoError(t, l.clone(t, 1))
			require.NoError(t, l.faults.Set(fault.Fault{Name: name, Times: 1}))
			require.NoError(t, do(t.Context(), l, t))
			require.Equal(t, 1, l.faults.List()[0].Occurred)
		})
	}
}

func start(ctx context.Context, l *lab, _ *testing.T) error {
	if _, err := l.VM(101).StartVM(ctx, 60); err != nil {
		return err
	}
	return l.VM(101).WaitForVMStatus(ctx, "running")
}

// TestFaultsThatEndTheProvidersWork checks the provider's message, which is what a user reads.
func TestFaultsThatEndTheProvidersWork(t *testing.T) {
	t.Parallel()
	clone := func(_ context.Context, l *lab, t *testing.T) error { return l.clone(t, 1) }
	read := func(ctx context.Context, l *lab, _ *testing.T) error {
		_, err := l.VM(9000).GetVMStatus(ctx)
		return err
	}
	tests := map[string]struct {
		do       func(context.Context, *lab, *testing.T) error
		expected string
	}{
		"template-missing": {clone, "the requested resource does not exist"},
		"vmid-taken":       {clone, "unable to create VM 101: config file already exists"},
		"clone-fails":      {clone, "clone failed: block job (mirror) error: drive-scsi0: 'mirror' has been cancelled"},
		"unauthorized":     {read, "received an HTTP 401 response - Reason: Authentication failed!"},
		"forbidden":        {read, "received an HTTP 403 response - Reason: Permission check failed (/vms/9000, VM.Audit)"},
		"unreachable":      {read, "received an HTTP 596 response - Reason: Connection timed out"},
		"answer-lost":      {clone, "EOF"},
		"host-reboots":     {clone, "EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, schema.Release84)
			require.NoError(t, l.faults.Set(fault.Fault{Name: name}))
			require.ErrorContains(t, test.do(t.Context(), l, t), test.expected)
			require.NotZero(t, l.faults.List()[0].Occurred)
		})
	}
}
