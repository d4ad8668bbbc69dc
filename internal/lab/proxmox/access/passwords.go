package access

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"time"
)

// passwordRounds make a guess at a password about as expensive as on a real host.
const passwordRounds = 4096

// SetPassword sets a user's password. Only a hash is kept.
func (u *User) SetPassword(name, password string) error {
	hash, err := hashPassword(name, password)
	if err != nil {
		return err
	}

	u.Password = hash

	return nil
}

// Open sets the password of an account, and creates the account if it does not exist.
func (d *Database) Open(name, password string) error {
	user, ok := d.Users[name]
	if !ok {
		user = &User{Enabled: true, Tokens: map[string]*Token{}}
		d.Users[name] = user
	}

	return user.SetPassword(name, password)
}

// Enter authenticates a user by password (AccessControl.pm, authenticate_user). Its errors wrap ErrAuthentication.
func (d *Database) Enter(name, password string, now time.Time) error {
	user, err := d.enabledUser(name, now)
	if err != nil {
		return err
	}

	hash, err := hashPassword(name, password)
	if err != nil {
		return err
	}

	if user.Password == "" || subtle.ConstantTimeCompare([]byte(user.Password), []byte(hash)) != 1 {
		return fmt.Errorf("%w: invalid credentials", ErrAuthentication)
	}

	return nil
}

// CheckEnabled returns an error for a missing, disabled or expired user (AccessControl.pm, check_user_enabled).
func (d *Database) CheckEnabled(name string, now time.Time) error {
	_, err := d.enabledUser(name, now)
	return err
}

func (d *Database) enabledUser(name string, now time.Time) (*User, error) {
	user, ok := d.Users[name]

	switch {
	case !ok:
		return nil, fmt.Errorf("%w: no such user ('%s')", ErrAuthentication, name)
	case !user.Enabled || user.Expire != 0 && user.Expire < now.Unix():
		return nil, fmt.Errorf("%w: user '%s' is disabled", ErrAuthentication, name)
	default:
		return user, nil
	}
}

func hashPassword(name, password string) (string, error) {
	key, err := pbkdf2.Key(sha256.New, password, []byte(name), passwordRounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("hash the password of %s: %w", name, err)
	}

	return hex.EncodeToString(key), nil
}
