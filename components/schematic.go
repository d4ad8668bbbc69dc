package components

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/imagefactory"
	"github.com/siderolabs/image-factory/pkg/schematic"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/guestagent"
)

// Schematic is the customization of a Talos image. A change means another image, which replaces the template; a node gets it
// with an upgrade.
type Schematic struct {
	// Extensions are official system extensions. With siderolabs/qemu-guest-agent the guest agent of the machines is switched on,
	// which reboots existing machines. Default: none.
	Extensions []string
	// KernelArgs are further arguments of the kernel. Default: none.
	KernelArgs []string
}

// WithDriver returns the schematic of a machine with GPUs: the missing extensions of the driver's pair are added.
func (s Schematic) WithDriver(d NVIDIADriver) Schematic {
	all := slices.Clone(s.Extensions)
	for _, extension := range d.Extensions() {
		if !slices.Contains(all, extension) {
			all = append(all, extension)
		}
	}
	s.Extensions = all
	return s
}

// hasGuestAgent reports whether QEMU's guest agent is in the image. A driver adds none.
func (s Schematic) hasGuestAgent() bool { return guestagent.In(s.Extensions) }

// ID returns the Image Factory's ID of the schematic: the SHA-256 of its canonical document, 64 hex digits. It is computed
// here, so that it is known without asking the factory.
func (s Schematic) ID() (string, error) {
	document := s.customization()
	return document.ID()
}

// document returns the schematic in the canonical form from which the Image Factory computes its ID.
func (s Schematic) document() (string, error) {
	document := s.customization()
	text, err := document.Marshal()
	return string(text), err
}

func (s Schematic) customization() schematic.Schematic {
	return schematic.Schematic{Customization: schematic.Customization{
		ExtraKernelArgs:  s.KernelArgs,
		SystemExtensions: schematic.SystemExtensions{OfficialExtensions: s.Extensions},
	}}
}

// register sends the schematic to the Image Factory, and returns its ID and an option for resources that use its images.
//
// The resource's own ID is not used: the provider changes the resource in place, and the engine never changes the ID of an
// updated resource (pulumi, pkg/resource/deploy/step.go, UpdateStep), so a changed schematic would change no image. It is
// compared with the computed ID: a factory that computes another ID would build another image.
func (s Schematic) register(ctx *pulumi.Context, name string, parent pulumi.Resource) (id string, known pulumi.ResourceOption, err error) {
	document, err := s.document()
	if err != nil {
		return "", nil, fmt.Errorf("schematic: %w", err)
	}
	if id, err = s.ID(); err != nil {
		return "", nil, fmt.Errorf("schematic: %w", err)
	}
	made, err := imagefactory.NewSchematic(ctx, name+state.SuffixSchematic, &imagefactory.SchematicArgs{
		Schematic: pulumi.String(document),
	}, pulumi.Parent(parent), replacedBySchematic())
	if err != nil {
		return "", nil, err
	}
	compared := made.ID().ApplyT(func(answered pulumi.ID) ([]pulumi.Resource, error) {
		if string(answered) != id {
			return nil, fmt.Errorf("schematic %q: the Image Factory returned the ID %s, but %s was computed: "+
				"its images would not be the requested ones; name another factory in em-infra:imageFactoryUrl, or take a release of em-infra that knows its schematics",
				name, answered, id)
		}
		return []pulumi.Resource{made}, nil
	}).(pulumi.ResourceArrayOutput)
	return id, pulumi.Composite(pulumi.DependsOn([]pulumi.Resource{made}), pulumi.DependsOnInputs(compared)), nil
}
