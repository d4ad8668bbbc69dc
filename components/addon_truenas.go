package components

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// addTrueNAS creates the Secret with the address and the key of the storage.
func (c *ClusterAddons) addTrueNAS(ctx *pulumi.Context) error {
	truenas := c.args.TrueNAS
	if truenas == nil {
		return nil
	}
	_, err := c.addSecret(ctx, truenas.Namespace, "truenas-api", opaque, map[string]pulumi.StringInput{
		"host": pulumi.String(truenas.Host), "apiKey": truenas.APIKey,
	})
	return err
}
