package components

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/hardware/mapping"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// GpuWorker is a Talos worker with NVIDIA GPUs: a TalosNode whose machine has the devices, whose image has the driver, and
// whose configuration loads it. It is cloned from the same template as other machines of its host and boots its ISO once; the
// driver comes with the installer image.
type GpuWorker struct {
	pulumi.ResourceState

	// InstallerImage is the image that Talos is installed from: the template's schematic with the driver.
	InstallerImage pulumi.StringOutput `pulumi:"installerImage"`
	// Mappings are the resource mappings that were created, in the order of their GPUs.
	Mappings []*mapping.Pci
	// Node is the worker itself.
	Node *TalosNode

	installer string // InstallerImage
}

// GpuWorkerArgs describe one worker with GPUs.
type GpuWorkerArgs struct {
	// Node is the worker itself. Required; its machine has at least one of GPUs, and its MachineConfiguration can be that of
	// any worker. The fields say what a change does.
	Node TalosNodeArgs
}

// NewGpuWorker creates a worker with GPUs. It returns an error if an argument is missing or invalid.
func NewGpuWorker(ctx *pulumi.Context, name string, args *GpuWorkerArgs, opts ...pulumi.ResourceOption) (*GpuWorker, error) {
	a, err := args.complete()
	if err != nil {
		return nil, fmt.Errorf("gpu worker %q: %w", name, err)
	}
	g := &GpuWorker{}
	if err := ctx.RegisterComponentResourceV2(typeGPUWorker, name, a.summary(), g, opts...); err != nil {
		return nil, err
	}
	if err := g.build(ctx, name, a); err != nil {
		return nil, fmt.Errorf("gpu worker %q: %w", name, err)
	}
	return g, ctx.RegisterResourceOutputs(g, pulumi.Map{"installerImage": g.InstallerImage})
}

// newNode creates a node: a GpuWorker for a machine with GPUs, otherwise a TalosNode. A machine that gets its first GPU, or
// loses its last, remains the same resource.
func (c *TalosCluster) newNode(ctx *pulumi.Context, name string, args TalosNodeArgs, options pulumi.ResourceOption) (*TalosNode, error) {
	if len(args.Machine.GPUs) == 0 {
		worker := pulumi.CreateURN(pulumi.String(name), pulumi.String(typeGPUWorker), c.URN().ToStringOutput(), pulumi.String(ctx.Project()), pulumi.String(ctx.Stack()))
		return NewTalosNode(ctx, name, &args, options, pulumi.Aliases(append(formerly(args.formerName), pulumi.Alias{ParentURN: worker})))
	}
	args.formerParent = c
	worker, err := NewGpuWorker(ctx, name, &GpuWorkerArgs{Node: args}, options, pulumi.Aliases(formerly(args.formerName)))
	if err != nil {
		return nil, err
	}
	return worker.Node, nil
}

// build adds what a worker needs for GPUs: mappings, an image with the driver, a configuration that loads it.
func (g *GpuWorker) build(ctx *pulumi.Context, name string, a GpuWorkerArgs) (err error) {
	if a.Node.Until.Reaches(PhaseProvision) {
		if err := g.addMappings(ctx, name, a.Node.Machine); err != nil {
			return err
		}
	}
	known, err := g.addImage(ctx, name, a)
	if err != nil {
		return err
	}
	nvidia, err := machineconfig.NVIDIA()
	if err != nil {
		return err
	}
	install := g.InstallerImage.ApplyT(machineconfig.InstallImage).(pulumi.StringOutput)
	a.Node.ConfigPatches = append(slices.Clone(a.Node.ConfigPatches), install, pulumi.String(nvidia))
	a.Node.after = append(a.Node.after, known)
	for _, made := range g.Mappings {
		a.Node.after = append(a.Node.after, pulumi.DependsOn([]pulumi.Resource{made}))
	}
	options := []pulumi.ResourceOption{pulumi.Parent(g)}
	if former := a.Node.formerParent; former != nil {
		options = append(options, pulumi.Aliases([]pulumi.Alias{{Parent: former}}))
	}
	a.Node.installer = g.installer
	g.Node, err = NewTalosNode(ctx, name, &a.Node, options...)
	return err
}

// addMappings creates a mapping for each GPU with a Device.
func (g *GpuWorker) addMappings(ctx *pulumi.Context, name string, m Machine) error {
	for i, gpu := range m.GPUs {
		if gpu.Device == nil {
			continue
		}
		made, err := mapping.NewPci(ctx, fmt.Sprintf("%s-gpu%d", name, i), &mapping.PciArgs{
			Name: pulumi.String(gpu.Mapping),
			Maps: mapping.PciMapTypeArray{mapping.PciMapTypeArgs{
				Node:        pulumi.String(m.Host),
				Path:        pulumi.String(gpu.Device.BDF),
				Id:          pulumi.String(gpu.Device.DeviceID),
				SubsystemId: pulumi.String(gpu.Device.SubsystemID),
				IommuGroup:  pulumi.Int(gpu.Device.IOMMUGroup),
			}},
		}, pulumi.Parent(g))
		if err != nil {
			return err
		}
		g.Mappings = append(g.Mappings, made)
	}
	return nil
}

// addImage requests an image with the driver, of the template's version. The machine depends on it, so that no machine is
// created whose installer does not exist.
func (g *GpuWorker) addImage(ctx *pulumi.Context, name string, a GpuWorkerArgs) (known pulumi.ResourceOption, err error) {
	template := a.Node.Template
	schematicID, known, err := template.schematic.WithDriver(a.Node.Machine.Driver).register(ctx, name, g)
	if err != nil {
		return nil, err
	}
	g.installer = template.image.installer(schematicID)
	g.InstallerImage = pulumi.String(g.installer).ToStringOutput()
	return known, nil
}

// complete returns a copy with defaults, or an error that lists every problem.
func (args *GpuWorkerArgs) complete() (GpuWorkerArgs, error) {
	if args == nil {
		return GpuWorkerArgs{}, errors.New("args: give GpuWorkerArgs")
	}
	a := *args
	var nodeProblems error
	a.Node, nodeProblems = args.Node.complete()
	a.Node.Machine.Labels = overlay(machineconfig.NVIDIALabels(), a.Node.Machine.Labels)
	a.Node.Machine.Taints = overlay(machineconfig.NVIDIATaints(), a.Node.Machine.Taints)
	return a, errors.Join(
		nodeProblems,
		require(len(a.Node.Machine.GPUs) > 0, "Node.Machine.GPUs", "give at least one, or make a TalosNode"),
		a.validateDriver(),
	)
}

// overlay returns the defaults, overwritten by what the user has set.
func overlay(defaults, settings map[string]string) map[string]string {
	maps.Copy(defaults, settings)
	return defaults
}

func (args GpuWorkerArgs) summary() pulumi.Map {
	summary := args.Node.summary()
	summary["gpus"] = pulumi.Int(len(args.Node.Machine.GPUs))
	summary["driver"] = pulumi.String(args.Node.Machine.Driver)
	return summary
}
