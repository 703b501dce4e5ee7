/**
 * The certificate of a server on 127.0.0.1. It is self-signed, so only clients that are told to trust it do,
 * and valid for a hundred years. It was made by `openssl req -x509 -newkey ec -pkeyopt
 * ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=127.0.0.1 -addext
 * subjectAltName=IP:127.0.0.1,DNS:localhost`.
 */
export const CERTIFICATE = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUN087TpXAFJvwmMel4To99hkmPu8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMzE4MDkzOFoYDzIxMjYxMDMw
MTgwOTM4WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASCChct/MZB3Rrl3XehzGbgCL8Rci00DXOEn3zL+8au3rLKASQmeaDt
DHGwqTvw57NS8hFrH+wmK6iYYMFIqRQco28wbTAdBgNVHQ4EFgQUU5+KXK5bXOiW
fqt3/VvxRtz89EgwHwYDVR0jBBgwFoAUU5+KXK5bXOiWfqt3/VvxRtz89EgwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSAAwRQIhANVHXBgNd5//LBoQLiaqza9qGfW1IcqpgbT2/OJ/H1UHAiBa
flGHZDZbsGpSd23IrLKHSH1QBaOefAXi11xbTSiYaA==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQnyVZxVgQ2YNxmN+
JVGQqX9WGxXp66DHxyXSsfwpH9WhRANCAASCChct/MZB3Rrl3XehzGbgCL8Rci00
DXOEn3zL+8au3rLKASQmeaDtDHGwqTvw57NS8hFrH+wmK6iYYMFIqRQc
-----END PRIVATE KEY-----
`,
}
