package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Verify authenticates the value of a PVEAPIToken header, "USER@REALM!TOKENID=SECRET", and returns the identity
// (AccessControl.pm, verify_token). Its errors wrap ErrAuthentication.
func (d *Database) Verify(header string, now time.Time) (string, error) {
	// Proxmox VE's pattern is greedy: the last '=' precedes the secret.
	at := strings.LastIndex(header, "=")
	if at < 0 {
		return "", fmt.Errorf("%w: no tokenid specified", ErrAuthentication)
	}

	identity, secret := header[:at], header[at+1:]

	user, ok := d.Users[Owner(identity)]
	if !ok {
		return "", fmt.Errorf("%w: no such user ('%s')", ErrAuthentication, Owner(identity))
	}

	if !user.Enabled || user.Expire != 0 && user.Expire < now.Unix() {
		return "", fmt.Errorf("%w: user '%s' is disabled", ErrAuthentication, Owner(identity))
	}

	token := d.token(identity)

	switch {
	case token == nil:
		return "", fmt.Errorf("%w: no such token '%s'", ErrAuthentication, identity)
	case token.Expire != 0 && token.Expire < now.Unix():
		return "", fmt.Errorf("%w: token '%s' access expired", ErrAuthentication, identity)
	case subtle.ConstantTimeCompare([]byte(token.Secret), []byte(hashSecret(identity, secret))) != 1:
		return "", fmt.Errorf("%w: invalid token value!", ErrAuthentication)
	}

	return identity, nil
}

// SetToken adds a token to a user. Only a hash of its secret is kept.
func (d *Database) SetToken(identity, secret string, token Token) {
	owner, name, _ := strings.Cut(identity, "!")

	user, ok := d.Users[owner]
	if !ok {
		user = &User{Enabled: true}
		d.Users[owner] = user
	}

	if user.Tokens == nil {
		user.Tokens = map[string]*Token{}
	}

	token.Secret = hashSecret(identity, secret)
	user.Tokens[name] = &token
}

// hashSecret returns a hash of a secret and its token. Secrets are random, so one round is enough.
func hashSecret(identity, secret string) string {
	sum := sha256.Sum256([]byte(identity + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}

func (d *Database) token(identity string) *Token {
	owner, name, _ := strings.Cut(identity, "!")

	user, ok := d.Users[owner]
	if !ok {
		return nil
	}

	return user.Tokens[name]
}
