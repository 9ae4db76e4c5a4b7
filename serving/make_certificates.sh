#!/bin/sh
# Writes tls/ beside this file: a certificate authority, a certificate of the server for the host names given, one of a
# client, and ssl.config, which --ssl_config_file takes (SSLConfig: the PEM texts themselves, not their paths).
#
#     serving/make_certificates.sh [--mutual] HOST...     --mutual: the server answers only clients with a certificate
#
# For a certificate that others sign, put its PEM texts into ssl.config in the same way. tls/ is not for git.
set -eu
umask 077

verify=false
[ "${1:-}" != --mutual ] || { verify=true; shift; }
[ $# -gt 0 ] || { echo "make_certificates.sh: expected the host names clients connect to, got none" >&2; exit 2; }
folder=${TLS_FOLDER:-$(dirname "$0")/tls}
[ ! -e "$folder/ssl.config" ] || { echo "make_certificates.sh: $folder/ssl.config exists; remove $folder to make new ones" >&2; exit 1; }
mkdir -p "$folder"
cd "$folder"

key() { openssl ecparam -genkey -name prime256v1 | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }
signed() {  # name, extensions
  openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
  printf '%s\n' "$2" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile "$1.ext" -out "$1.crt" 2> openssl.log ||
    { cat openssl.log >&2; exit 1; }
  rm "$1.csr" "$1.ext" openssl.log
}
quoted() { printf '%s: "' "$1"; awk '{printf "%s\\n", $0}' "$2"; printf '"\n'; }

names=
for host; do
  case $host in *:*) kind=IP ;; *[!0-9.]*) kind=DNS ;; *) kind=IP ;; esac
  names=$names${names:+,}$kind:$host
done
key ca
openssl req -new -x509 -key ca.key -subj "/CN=rnnsearch serving" -days 3650 -out ca.crt
key server
signed server "subjectAltName=$names"
key client
signed client "extendedKeyUsage=clientAuth"
{
  quoted server_key server.key
  quoted server_cert server.crt
  if [ $verify = true ]; then quoted custom_ca ca.crt; fi
  echo "client_verify: $verify"
} > ssl.config
echo "$(pwd)/ssl.config; clients take $(pwd)/ca.crt"
