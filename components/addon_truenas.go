package components

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// TrueNAS is a storage appliance; its address and key become the Secret truenas-api with the keys host and apiKey.
type TrueNAS struct {
	// Host is its DNS name or address. Required. A change is made in place.
	Host string
	// APIKey gives access to its API. Required, secret. A change is made in place.
	APIKey pulumi.StringInput
	// Namespace of the Secret. Required. It is created unless it is one of Kubernetes' own.
	Namespace string
	// CSI is what the driver truenas-csi needs, with the same key. Default: nil, nothing.
	CSI *TrueNASCSI
}

// TrueNASCSI is what truenas-csi finds in the cluster, in the namespace truenas-csi (truenas/truenas-csi, deploy/truenas-csi-driver.yaml).
type TrueNASCSI struct {
	// URL of the API of the box, wss://HOST/api/current. Required. A change reaches the driver when its pods start again, as for
	// SkipVerify, Pool, NFSServer, ISCSIPortal and IQNBase.
	URL string
	// SkipVerify makes the driver accept any certificate. Default: false.
	SkipVerify bool
	// Pool holds the volumes, directly below it. Required.
	Pool string
	// NFSServer is where nodes mount NFS volumes. Required.
	NFSServer string
	// ISCSIPortal is where nodes log in, HOST:PORT. Default: empty, the driver takes the host of the URL.
	ISCSIPortal string
	// IQNBase is the beginning of the names of the box's targets. Required.
	IQNBase string
	// Classes of the driver. Required.
	Classes []StorageClass
	// Chart installs the driver as the release truenas-csi, after everything else. Default: nil, it is installed by other means.
	Chart *Chart
}

// StorageClass is a StorageClass of truenas-csi. Kubernetes refuses a change of anything but Default until the class is deleted; volumes do not
// depend on the class.
type StorageClass struct {
	// Name of the class. Required.
	Name string
	// Protocol is nfs or iscsi. Required.
	Protocol string
	// Default makes it the class of claims without one. Default: false. A change is made in place.
	Default bool
	// ReclaimPolicy is Retain or Delete. Required.
	ReclaimPolicy string
	// Compression of the volumes. Default: empty, the driver's.
	Compression string
	// Networks that may mount volumes of nfs. Default: none, all networks may.
	Networks []netip.Prefix
	// Initiators that may log in to volumes of iscsi, by their IQNs. Default: none, all initiators may.
	Initiators []string
	// Parameters are further parameters for the driver. Default: none.
	Parameters map[string]string
}

// truenasSecret names the Secret with the address and the key of the storage.
const truenasSecret = "truenas-api" //nolint:gosec // the name of a Secret

// Names that truenas-csi looks for (truenas/truenas-csi, deploy/truenas-csi-driver.yaml).
const (
	csiName        = "truenas-csi"
	csiProvisioner = "csi.truenas.io"
	csiSecret      = "truenas-api-credentials" //nolint:gosec // the name of a Secret
	csiConfig      = "truenas-csi-config"
)

func (t TrueNAS) validate() error {
	problems := []error{
		require(t.Host != "", "TrueNAS.Host", "give its DNS name or address"),
		require(t.APIKey != nil, "TrueNAS.APIKey", "give the key of its API"),
		require(t.Namespace != "", "TrueNAS.Namespace", "name the namespace of the Secret"),
	}
	if t.CSI != nil {
		problems = append(problems, t.CSI.validate())
	}
	return errors.Join(problems...)
}

func (c TrueNASCSI) validate() error {
	problems := []error{
		require(strings.HasPrefix(c.URL, "wss://"), "TrueNAS.CSI.URL", "give one like wss://nas.example/api/current"),
		require(c.Pool != "", "TrueNAS.CSI.Pool", "name the pool of the volumes"),
		require(c.NFSServer != "", "TrueNAS.CSI.NFSServer", "give its DNS name or address"),
		require(c.IQNBase != "", "TrueNAS.CSI.IQNBase", "give the base name of the box's targets"),
		require(len(c.Classes) > 0, "TrueNAS.CSI.Classes", "give at least one"),
	}
	names := map[string]bool{}
	for i, class := range c.Classes {
		at := fmt.Sprintf("TrueNAS.CSI.Classes[%d].", i)
		problems = append(problems,
			require(class.Name != "", at+"Name", "name the class"),
			require(!names[class.Name], at+"Name", fmt.Sprintf("%q is there twice: give each class a name of its own", class.Name)),
			require(class.Protocol == "nfs" || class.Protocol == "iscsi", at+"Protocol", "give nfs or iscsi"),
			require(class.ReclaimPolicy == "Retain" || class.ReclaimPolicy == "Delete", at+"ReclaimPolicy", "give Retain or Delete"))
		names[class.Name] = class.Name != ""
	}
	return errors.Join(problems...)
}

// addTrueNAS creates the Secret with the address and the key of the storage, and what its CSI driver needs.
func (c *ClusterAddons) addTrueNAS(ctx *pulumi.Context) error {
	truenas := c.args.TrueNAS
	if truenas == nil {
		return nil
	}
	if truenas.CSI != nil {
		if err := c.addCSI(ctx, *truenas.CSI, truenas.APIKey); err != nil {
			return err
		}
	}
	_, err := c.addSecret(ctx, truenas.Namespace, truenasSecret, opaque, map[string]pulumi.StringInput{
		"host": pulumi.String(truenas.Host), "apiKey": truenas.APIKey,
	})
	return err
}

// addCSI creates what the driver reads, then its classes, and at last the driver, if a chart installs it.
func (c *ClusterAddons) addCSI(ctx *pulumi.Context, csi TrueNASCSI, key pulumi.StringInput) error {
	there, err := c.namespace(ctx, csiName)
	if err != nil {
		return err
	}
	secret, err := c.addSecret(ctx, csiName, csiSecret, opaque, map[string]pulumi.StringInput{"api-key": key})
	if err != nil {
		return err
	}
	config, err := c.addObject(ctx, "configmap-"+csiConfig, kindConfigMap, csiName, csiConfig, pulumi.Map{"data": csi.config()}, there)
	if err != nil {
		return err
	}
	before := []pulumi.Resource{secret, config}
	for _, class := range csi.Classes {
		made, err := c.addStorageClass(ctx, class)
		if err != nil {
			return err
		}
		before = append(before, made)
	}
	if csi.Chart != nil {
		_, err = c.addRelease(ctx, csiName, csiName, *csi.Chart, nil, pulumi.DependsOn(before))
	}
	return err
}

func (c TrueNASCSI) config() pulumi.StringMap {
	return pulumi.StringMap{
		"truenasURL": pulumi.String(c.URL), "truenasInsecure": pulumi.String(strconv.FormatBool(c.SkipVerify)), "defaultPool": pulumi.String(c.Pool),
		"nfsServer": pulumi.String(c.NFSServer), "iscsiPortal": pulumi.String(c.ISCSIPortal), "iscsiIQNBase": pulumi.String(c.IQNBase),
	}
}

// addStorageClass creates a class. Kubernetes refuses a change of anything but the annotation. A replacement fails, too: the provider tries the new
// class on the existing one. So the class has to be deleted by hand first (docs/decisions/0091).
func (c *ClusterAddons) addStorageClass(ctx *pulumi.Context, class StorageClass) (pulumi.Resource, error) {
	return c.addObject(ctx, "storageclass-"+class.Name, kindStorageClass, "", class.Name, pulumi.Map{
		"metadata": pulumi.Map{
			"name":        pulumi.String(class.Name),
			"annotations": pulumi.StringMap{"storageclass.kubernetes.io/is-default-class": pulumi.String(strconv.FormatBool(class.Default))},
		},
		"provisioner":          pulumi.String(csiProvisioner),
		"parameters":           class.parameters(),
		"reclaimPolicy":        pulumi.String(class.ReclaimPolicy),
		"volumeBindingMode":    pulumi.String("Immediate"),
		"allowVolumeExpansion": pulumi.Bool(true),
	})
}

// parameters returns what the driver reads for each volume. Without networks and initiators it would offer volumes to every client.
func (s StorageClass) parameters() pulumi.StringMap {
	parameters := pulumi.StringMap{"protocol": pulumi.String(s.Protocol)}
	if s.Compression != "" {
		parameters["compression"] = pulumi.String(s.Compression)
	}
	if len(s.Networks) > 0 {
		networks := make([]string, len(s.Networks))
		for i, network := range s.Networks {
			networks[i] = network.String()
		}
		parameters["nfs.networks"] = pulumi.String(strings.Join(networks, ","))
	}
	if len(s.Initiators) > 0 {
		parameters["iscsi.initiators"] = pulumi.String(strings.Join(s.Initiators, ","))
	}
	for name, value := range s.Parameters {
		parameters[name] = pulumi.String(value)
	}
	return parameters
}
