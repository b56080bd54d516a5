"""A camera: GStreamer's RTSP server playing an H.264 clip. Runs under the system's python3, which has GStreamer.

The configuration comes as one line of JSON over stdin ({"clip", "port", "user", "password", "rtcp", "udp"}); the
process ends when stdin closes.
"""

import json
import os
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

PIPELINE = "( filesrc name=clip ! qtdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=1 )"
ROLE = "viewer"


class ClipFactory(GstRtspServer.RTSPMediaFactory):
    """Plays the clip from its beginning for each client."""

    def __init__(self, clip):
        super().__init__()
        self.clip = clip

    def do_create_element(self, url):
        element = Gst.parse_launch(PIPELINE)
        element.get_by_name("clip").set_property("location", self.clip)
        return element


def demand_password(server, factory, user, password):
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", ROLE)
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    server.set_auth(auth)
    rights = "media.factory.access=(boolean)true,media.factory.construct=(boolean)true"
    factory.add_role_from_structure(Gst.Structure.new_from_string(f"{ROLE},{rights}"))


def exit_with_parent():
    while os.read(0, 4096):
        pass
    os._exit(0)


def main():
    config = json.loads(sys.stdin.readline())
    threading.Thread(target=exit_with_parent, daemon=True).start()
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(str(config["port"]))
    factory = ClipFactory(config["clip"])
    factory.set_enable_rtcp(config["rtcp"])
    if config["udp"]:
        factory.set_protocols(GstRtsp.RTSPLowerTrans.UDP)
    if config["user"] is not None:
        demand_password(server, factory, config["user"], config["password"])
    server.get_mount_points().add_factory("/camera", factory)
    if server.attach(None) == 0:
        sys.exit(f"port {config['port']} is taken")
    GLib.MainLoop().run()


main()
