package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/pve"
)

// Unlock returns the command that removes a VM's lock.
func Unlock(place Place) *cobra.Command {
	return machine(place, &cobra.Command{
		Use:   "unlock VM" + place.Words().Usage,
		Short: "Take a VM's lock away, as `qm unlock` does on a real host",
		Long: `Take a VM's lock away, whatever put it there: what "qm unlock VMID" does on a real host, where no API does it. A clone
that was cut short by a power cut leaves a lock that nothing else removes; the VM can be deleted afterwards.`,
		Example: place.Words().vmExamples("unlock"),
	}, (*control.Client).Unlock, "VM %d has no lock any more\n")
}

// Reset returns the command that restarts a running VM.
func Reset(place Place) *cobra.Command {
	return machine(place, &cobra.Command{
		Use:   "reset VM" + place.Words().Usage,
		Short: "Restart a VM that hangs, as `qm reset` does on a real host",
		Long: `Restart a VM that runs, as the button on a computer does: what "qm reset VMID" does on a real host, and Reset in its
web interface. Whatever the VM is at ends at once, and it boots with what is on its disks.`,
		Example: place.Words().vmExamples("reset"),
	}, (*control.Client).Reset, "VM %d boots\n")
}

// machine completes a command for one VM of a lab. It prints done when the command succeeds.
func machine(place Place, command *cobra.Command, do func(*control.Client, context.Context, int) error, done string) *cobra.Command {
	command.Args = OneName("VM")
	command.RunE = func(command *cobra.Command, args []string) error {
		vmid, err := place.VMID(args[0])
		if err != nil {
			return Refused(err)
		}
		console, err := console(place)
		if err != nil {
			return err
		}
		if err := do(console, command.Context(), vmid); err != nil {
			return byLab(err)
		}
		_, err = fmt.Fprintf(command.OutOrStdout(), done, vmid)
		return err
	}
	place.Bind(command)
	return command
}

// StopVM returns the command that switches a VM off.
func StopVM(place Place) *cobra.Command {
	return onHost(place, &cobra.Command{
		Use:   "stop-vm VM" + place.Words().Usage,
		Short: "Switch a VM off, as `qm stop` does on a real host",
		Long: `Switch a VM off at once, as pulling its plug does: what "qm stop VMID" does on a real host, and Stop in its web interface.
The lab itself is stopped with "lab stop".`,
		Example: place.Words().vmExamples("stop-vm"),
	}, func(ctx context.Context, host pve.Host, machine *pve.Machine, vmid int) error {
		if !machine.Running {
			return nil
		}
		return host.Stop(ctx, machine.Node, vmid)
	}, "VM %d is off\n")
}

// Destroy returns the command that deletes a VM that is off.
func Destroy(place Place) *cobra.Command {
	return onHost(place, &cobra.Command{
		Use:   "destroy VM" + place.Words().Usage,
		Short: "Delete a VM that is off, as `qm destroy` does on a real host",
		Long: `Delete a VM with its disks, whether or not any state knows it: what "qm destroy VMID --purge" does on a real host. One that
runs is refused, as it is there: switch it off with "lab stop-vm".`,
		Example: place.Words().vmExamples("destroy"),
	}, func(ctx context.Context, host pve.Host, machine *pve.Machine, vmid int) error {
		if machine.Running {
			return Refused(fmt.Errorf("VM %d is running: switch it off first with `%s`", vmid, next(place, fmt.Sprintf("stop-vm %d", vmid))))
		}
		return host.Delete(ctx, machine.Node, vmid)
	}, "VM %d is deleted\n")
}

// onHost completes a command that changes one VM through the lab's host. It prints done when the command succeeds.
func onHost(place Place, command *cobra.Command, do func(context.Context, pve.Host, *pve.Machine, int) error, done string) *cobra.Command {
	command.Args = OneName("VM")
	command.RunE = func(command *cobra.Command, args []string) error {
		vmid, err := place.VMID(args[0])
		if err != nil {
			return Refused(err)
		}
		host, machine, err := lookUp(command.Context(), place, vmid)
		if err != nil {
			return err
		}
		if err := do(command.Context(), host, machine, vmid); err != nil {
			return err
		}
		_, err = fmt.Fprintf(command.OutOrStdout(), done, vmid)
		return err
	}
	place.Bind(command)
	return command
}

// lookUp returns a VM of a running lab and its host.
func lookUp(ctx context.Context, place Place, vmid int) (pve.Host, *pve.Machine, error) {
	d, err := Running(place)
	if err != nil {
		return pve.Host{}, nil, err
	}
	host, err := pve.NewHost(pve.Connection{Endpoint: d.ProxmoxEndpoint(), Token: d.Token, Insecure: true})
	if err != nil {
		return pve.Host{}, nil, Refused(err)
	}
	machine, err := host.Look(ctx, vmid)
	if err == nil && machine == nil {
		err = Refused(fmt.Errorf("there is no VM %d in this lab: `%s` lists those there are", vmid, place.Words().List))
	}
	return host, machine, err
}
