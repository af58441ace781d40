#!/bin/sh
# Installs what the browser tests need and this machine lacks: a Chromium, and a font with Chinese.
set -eu

has_browser() {
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

has_chinese() { command -v fc-list >/dev/null 2>&1 && fc-list :lang=zh family | grep -q .; }

missing=''
has_browser || missing="$missing chromium"
has_chinese || missing="$missing fonts-noto-cjk"

if [ -z "$missing" ]; then
  echo 'A Chromium and a font with Chinese are installed.'
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "The browser tests need a Chromium and a font with Chinese; install (as Debian calls them):$missing." >&2
  exit 1
fi

install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends -y $missing; }

echo "Installing$missing; this takes about a minute."
# The lists of packages may be there and fresh; they are only fetched where they are not.
install >/dev/null 2>&1 || { apt-get update -qq && install >/dev/null; }
if ! has_browser || ! has_chinese; then
  echo "apt-get installed$missing, but they are not found: look at what it says without -qq." >&2
  exit 1
fi
echo 'A Chromium and a font with Chinese are installed.'
