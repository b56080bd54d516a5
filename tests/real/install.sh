#!/bin/sh
# Installs what the integration tests need beside Python, where it may: Java and Maven (the Kafka broker), GStreamer's
# RTSP server (the camera), kcat (an independent consumer), Prometheus, Mosquitto (MQTT), a browser and its driver, Go
# (which builds Helm where there is none). What it may not install, the tests skip with a reason.
packages=""
need() { # need COMMAND_THAT_PROVES_IT PACKAGE...
    proof=$1
    shift
    sh -c "$proof" >/dev/null 2>&1 || packages="$packages $*"
}
need "java -version" default-jre-headless
need "mvn --version" maven
need "kcat -V" kcat
need "promtool --version" prometheus
need "helm version || go version || /usr/local/go/bin/go version" golang-go
need "test -x /usr/sbin/mosquitto || mosquitto -h | grep version" mosquitto
need "chromium --version && chromedriver --version" chromium chromium-driver
need "/usr/bin/python3 -c 'import gi; gi.require_version(\"GstRtspServer\", \"1.0\"); from gi.repository import GstRtspServer'" \
    python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-base gstreamer1.0-plugins-good \
    gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly gstreamer1.0-libav
[ -z "$packages" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "tests: not installed here, install them yourself for the integration tests:$packages" >&2
    exit 0
elif [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "tests: for the integration tests run: sudo apt-get install$packages" >&2
    exit 0
fi
echo "tests: installing$packages"
$as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
for service in prometheus mosquitto; do # the tests start their own: the packages' services are not wanted
    case "$packages" in *$service*)
        command -v systemctl >/dev/null 2>&1 && $as_root systemctl disable --now $service >/dev/null 2>&1 ;;
    esac
done
exit 0
