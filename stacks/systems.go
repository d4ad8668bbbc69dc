package stacks

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Names of the outputs of a stack of systems, beside [OutputContract] and [OutputPlugins]. They are a contract.
const (
	// OutputSystemAddresses maps the name of a system to its first static address; systems with DHCP only, and machines from an ISO, are not in it.
	OutputSystemAddresses = "systemAddresses"
	// OutputSystemVMIDs maps the name of a system to its VMID.
	OutputSystemVMIDs = "systemVmIds"
)

// systemsProgram deploys systems: inventory, providers, pools, images and templates, machines, containers, outputs.
func systemsProgram(ctx *pulumi.Context, settings settings, options Options) error {
	inv, err := systems.Load(workspace.Nearby(settings.inventory))
	if err != nil {
		return err
	}
	providers, err := newHostProviders(ctx, settings, inv.File.Protect)
	if err != nil {
		return err
	}
	p := systemsRun{ctx: ctx, file: inv.File, api: settings.api(), shared: pulumi.Composite(providers, pulumi.Protect(inv.File.Protect))}
	if err := p.newPools(); err != nil {
		return err
	}
	if err := p.newSources(); err != nil {
		return err
	}
	if err := p.newMachines(); err != nil {
		return err
	}
	if err := p.newContainers(); err != nil {
		return err
	}
	exportSystems(ctx, inv, options)
	return nil
}

// systemsRun has what the resources of the systems are made with.
type systemsRun struct {
	ctx    *pulumi.Context
	file   systems.File
	api    components.ProxmoxAPI
	shared pulumi.ResourceOption

	pools     map[string]*components.Pool
	images    map[string]*components.ImageTemplate
	isos      map[hosted]*components.ISO
	templates map[hosted]*components.ContainerTemplate
}

// hosted is a template of containers, or an ISO, on one host.
type hosted struct{ name, host string }

// ImageName returns the logical name of the resource that makes the template of an image, for code that reads a state. The VMID is its
// identity: a template of another name is the same guest.
func ImageName(inv *systems.Inventory, image systems.Image) string {
	return imageName(inv.File, image)
}

func imageName(file systems.File, image systems.Image) string {
	return fmt.Sprintf("%s-image-%d", file.Name, image.VMID)
}

// ContainerTemplateName returns the logical name of the resource that makes a host download a template of containers.
func ContainerTemplateName(inv *systems.Inventory, template systems.ContainerTemplate, host string) string {
	return containerTemplateName(inv.File, template, host)
}

func containerTemplateName(file systems.File, template systems.ContainerTemplate, host string) string {
	return file.Name + "-template-" + template.Name + "-" + host
}

// ISOName returns the logical name of the resource that makes a host download an ISO.
func ISOName(inv *systems.Inventory, iso systems.ISO, host string) string {
	return isoName(inv.File, iso, host)
}

func isoName(file systems.File, iso systems.ISO, host string) string {
	return file.Name + "-iso-" + iso.Name + "-" + host
}

// RootName returns the logical name of the resource that grows the root of a container.
func RootName(inv *systems.Inventory, container systems.Container) string {
	return systemName(inv.File, container.Name) + "-root"
}

// newPools makes the pools that the systems name, unless they exist.
func (r *systemsRun) newPools() error {
	r.pools = map[string]*components.Pool{}
	for _, name := range r.file.Pools() {
		pool, err := components.NewPool(r.ctx, r.file.Name+"-pool-"+name, &components.PoolArgs{Name: name, API: r.api}, r.shared)
		if err != nil {
			return err
		}
		r.pools[name] = pool
	}
	return nil
}

// newSources makes what the systems are made from: templates of images, and the files of ISOs and templates of containers on each of their
// hosts.
func (r *systemsRun) newSources() error {
	if err := r.newImages(); err != nil {
		return err
	}
	if err := r.newISOs(); err != nil {
		return err
	}
	return r.newTemplates()
}

func (r *systemsRun) newImages() error {
	r.images = map[string]*components.ImageTemplate{}
	for _, image := range r.file.Images {
		made, err := components.NewImageTemplate(r.ctx, imageName(r.file, image), &components.ImageTemplateArgs{
			API: r.api, Host: image.Host, VMID: image.VMID, Name: image.Name, DiskStorage: image.DiskStorage,
			Source: r.source(image.Source, image.File()),
		}, r.shared)
		if err != nil {
			return err
		}
		r.images[image.Name] = made
	}
	return nil
}

// newISOs lets a host download an ISO only while one of its machines has it in its drive.
func (r *systemsRun) newISOs() error {
	r.isos = map[hosted]*components.ISO{}
	for _, iso := range r.file.ISOs {
		for _, host := range r.file.ISOHosts(iso.Name) {
			made, err := components.NewISO(r.ctx, isoName(r.file, iso, host), &components.ISOArgs{
				API: r.api, Host: host, Source: r.source(iso.Source, iso.File()),
			}, r.shared)
			if err != nil {
				return err
			}
			r.isos[hosted{iso.Name, host}] = made
		}
	}
	return nil
}

func (r *systemsRun) newTemplates() error {
	r.templates = map[hosted]*components.ContainerTemplate{}
	for _, template := range r.file.ContainerTemplates {
		for _, host := range r.file.TemplateHosts(template.Name) {
			made, err := components.NewContainerTemplate(r.ctx, containerTemplateName(r.file, template, host), &components.ContainerTemplateArgs{
				API: r.api, Host: host, Source: r.source(template.Source, template.File()),
			}, r.shared)
			if err != nil {
				return err
			}
			r.templates[hosted{template.Name, host}] = made
		}
	}
	return nil
}

func (r *systemsRun) source(source systems.Source, file string) components.ImageSource {
	return components.ImageSource{URL: &source.URL.URL, Checksum: string(source.Checksum), File: file, Storage: r.file.Proxmox.FileStorage}
}

// SystemName returns the logical name of a virtual machine or container, with which those of its resources begin.
func SystemName(inv *systems.Inventory, system string) string { return systemName(inv.File, system) }

func systemName(file systems.File, system string) string { return file.Name + "-" + system }

func (r *systemsRun) newMachines() error {
	for _, machine := range r.file.VirtualMachines {
		args := &components.VirtualMachineArgs{
			System: r.system(machine.System), CPUType: machine.CPUType, Pool: r.pools[machine.Pool],
		}
		if machine.IsAppliance() {
			args.Blank, args.ISO = true, r.isos[hosted{machine.Disc(), machine.Host}]
		} else {
			args.Template, args.User, args.Keys = r.images[machine.Image], machine.User, r.file.KeysOf(machine.System)
		}
		for _, disk := range machine.DataDisks {
			args.DataDisks = append(args.DataDisks, components.SystemDisk{SizeGiB: disk.SizeGiB, Storage: disk.Storage})
		}
		if _, err := components.NewVirtualMachine(r.ctx, systemName(r.file, machine.Name), args, r.shared); err != nil {
			return err
		}
	}
	return nil
}

func (r *systemsRun) newContainers() error {
	osTypes := map[string]string{}
	for _, template := range r.file.ContainerTemplates {
		osTypes[template.Name] = string(template.OSType)
	}
	for _, container := range r.file.Containers {
		system := r.system(container.System)
		system.Keys = r.file.KeysOf(container.System)
		_, err := components.NewContainer(r.ctx, systemName(r.file, container.Name), &components.ContainerArgs{
			System: system, API: r.api, Template: r.templates[hosted{container.Template, container.Host}],
			OSType: osTypes[container.Template], SwapMiB: container.SwapMiB, Nesting: container.Nesting, Pool: r.pools[container.Pool],
		}, r.shared)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *systemsRun) system(s systems.System) components.System {
	args := components.System{
		Name: s.Name, Host: s.Host, VMID: s.VMID, Cores: s.Cores, MemoryMiB: s.MemoryMiB, DiskGiB: s.DiskGiB, DiskStorage: s.DiskStorage,
		Nameservers: s.Nameservers, SearchDomain: s.SearchDomain, OffAtBoot: !s.OnBoot, Tags: r.file.TagsOf(s), Protect: s.Protect,
	}
	for _, card := range s.NICs {
		args.NICs = append(args.NICs, components.SystemNIC{
			Bridge: card.Bridge, VLAN: card.VLAN, MAC: card.MAC[:], Address: card.Address.Prefix, Gateway: card.Gateway,
		})
	}
	if s.Startup != nil {
		args.Startup = &components.Startup{Order: s.Startup.Order, UpDelaySeconds: s.Startup.UpDelaySeconds, DownDelaySeconds: s.Startup.DownDelaySeconds}
	}
	return args
}

func exportSystems(ctx *pulumi.Context, inv *systems.Inventory, options Options) {
	addresses, vmids := pulumi.StringMap{}, pulumi.IntMap{}
	for _, s := range inv.File.Systems() {
		vmids[s.Name] = pulumi.Int(s.VMID)
		if static := s.Addresses(); len(static) > 0 {
			addresses[s.Name] = pulumi.String(static[0].String())
		}
	}
	ctx.Export(OutputContract, pulumi.String(OutputContractVersion))
	ctx.Export(OutputSystemAddresses, addresses)
	ctx.Export(OutputSystemVMIDs, vmids)
	if len(options.Plugins) > 0 {
		ctx.Export(OutputPlugins, pulumi.ToStringMap(options.Plugins))
	}
}
