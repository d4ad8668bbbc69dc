package talos

import (
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
)

// resources maps every resource of the SDK.
func resources() map[string]*tfbridge.ResourceInfo {
	return map[string]*tfbridge.ResourceInfo{
		"talos_cluster_kubeconfig":          named("cluster", "Kubeconfig"),
		"talos_image_factory_schematic":     named("imageFactory", "Schematic"),
		"talos_machine_bootstrap":           named("machine", "Bootstrap"),
		"talos_machine_configuration_apply": withoutResolvedMode(named("machine", "ConfigurationApply")),
		"talos_machine_secrets":             named("machine", "Secrets"),
	}
}

// dataSources maps every function of the SDK.
func dataSources() map[string]*tfbridge.DataSourceInfo {
	return map[string]*tfbridge.DataSourceInfo{
		"talos_client_configuration":              function("client", "getConfiguration"),
		"talos_cluster_health":                    function("cluster", "getHealth"),
		"talos_cluster_kubeconfig":                function("cluster", "getKubeconfig"),
		"talos_image_factory_extensions_versions": function("imageFactory", "getExtensionsVersions"),
		"talos_image_factory_overlays_versions":   function("imageFactory", "getOverlaysVersions"),
		"talos_image_factory_urls":                function("imageFactory", "getUrls"),
		"talos_image_factory_versions":            function("imageFactory", "getVersions"),
		"talos_machine_configuration":             function("machine", "getConfiguration"),
		"talos_machine_disks":                     function("machine", "getDisks"),
	}
}

func named(module, name string) *tfbridge.ResourceInfo {
	return &tfbridge.ResourceInfo{Tok: tfbridge.MakeResource(Name, module, name)}
}

func function(module, name string) *tfbridge.DataSourceInfo {
	return &tfbridge.DataSourceInfo{Tok: tfbridge.MakeDataSource(Name, module, name)}
}
