package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// isTLS says whether a connection failed for its encryption.
func isTLS(err error) bool {
	_, _, is := tlsTrouble(err)
	return is
}

// tlsTrouble says what is wrong with the encryption of a connection and how to go
// on.
func tlsTrouble(err error) (text, next string, is bool) {
	const look = " Or look at the certificate: openssl s_client -connect HOST:PORT -showcerts"
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &host):
		return "the certificate is for another name: " + host.Error(), "Use the name that the certificate has, or pass --insecure if you know the server.", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet: " + invalid.Error(), "Renew it, check this machine's clock, or pass --insecure if you know the server.", true
	case errors.As(err, &unknown):
		return "the certificate is signed by nobody that this machine trusts", "Pass the signer's certificate with --cacert FILE, or --insecure if you know the server." + look, true
	case errors.As(err, &header):
		return "the server does not speak TLS on this port", "Write http:// in place of https://, or use the port that speaks TLS.", true
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server speaks plain HTTP on this port", "Write http:// in place of https://.", true
	case errors.As(err, &alert):
		return "the server refuses the encrypted connection: " + alert.Error(), "It may ask for a certificate of the client, which shakedown does not have: probe it from inside, on its own port." + look, true
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "the certificate is not accepted: " + clip(err.Error(), 300), "Pass the signer's certificate with --cacert FILE, or --insecure if you know the server." + look, true
	case strings.Contains(err.Error(), "tls: "):
		return "the encrypted connection failed: " + clip(err.Error(), 300), "Check the port, and whether it speaks TLS 1.2 or newer." + look, true
	}
	return "", "", false
}
